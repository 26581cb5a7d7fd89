#!/usr/bin/env bash
# On one GPU, in ten minutes: what BERT-base and BERT-large reach, and ResAdapters at reduced scale.
#
#     benchmarks/gpu_paper.sh OUT [options of `repro run`, such as --train-rows 64]
#
# OUT gets the logs, the artefacts, the store and a bundle. Needs the data and the model of the
# reduced scale for its last step only. SCALE, STEPS, LIMIT and DEVICE make it smaller, for a try:
#
#     DEVICE=cpu SCALE=smoke STEPS=2 BATCH=1 benchmarks/gpu_paper.sh OUT --train-rows 16 --epochs 1
set -uo pipefail
out=$1
shift
device=${DEVICE:-cuda} limit=${LIMIT:-200}
export REPRO_STORE=$out/store PYTHONUNBUFFERED=1
mkdir -p "$out"
batch=(${BATCH:+--batch-size "$BATCH"})
step() {  # name, seconds at most, command
  local name=$1 most=$2 began=$SECONDS
  shift 2
  timeout "$most" "$@" > "$out/$name.txt" 2> "$out/$name.log"
  echo "$name: exit code $?, $((SECONDS - began)) s"
}
# Floor ratios of BERT-base; kernels and overhead of a step.
step bench 150 python3 -m repro bench --device "$device"
# BERT-large: full fine-tuning and adapters at whole batches, with peak memory.
step bert-large 120 python3 -m repro rehearse Houlsby-1 --scale "${LARGE:-paper}" --device "$device" \
  --tasks rte --steps "${STEPS:-64}" "${batch[@]}"
# Real runs, uncapped unless options say otherwise.
step resadapters "$limit" python3 -m repro run ResAdapters-1 ResAdapters-2 \
  --scale "${SCALE:-reduced}" --device "$device" "$@"
for id in ResAdapters-1 ResAdapters-2; do
  step "$id" 30 python3 -m repro table "$id" --scale "${SCALE:-reduced}" --no-run --out "$out" "$@"
done
step plan 30 python3 -m repro plan ResAdapters-1 Houlsby-1 --scale paper
step pack 30 python3 -m repro store pack "$out/reference.jsonl.xz"
