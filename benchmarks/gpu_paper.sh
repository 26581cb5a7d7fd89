#!/usr/bin/env bash
# On one GPU, in ten minutes: what BERT-base and BERT-large reach, eager and compiled, and
# ResAdapters at reduced scale.
#
#     benchmarks/gpu_paper.sh OUT [options of `repro run`, such as --train-rows 64]
#
# OUT gets the logs, the artefacts, the store and a bundle. Only the real runs need data and a model.
# DEVICE, SHAPES, SCALE, STEPS, BATCH and LIMIT make it smaller, for a try without a GPU, and
# PATIENCE=5 allows every step five times as long:
#
#     DEVICE=cpu SHAPES=MiniLM-L6 SCALE=smoke STEPS=2 BATCH=1 LARGE="3-shared-2 --scale smoke" \
#       benchmarks/gpu_paper.sh OUT --train-rows 16 --evaluation-rows 8 --epochs 1
set -uo pipefail
out=$1
shift
device=${DEVICE:-cuda} limit=${LIMIT:-170}
export REPRO_STORE=$out/store PYTHONUNBUFFERED=1
mkdir -p "$out"
batch=(${BATCH:+--batch-size "$BATCH"})
step() {  # name, seconds at most, command
  local name=$1 most=$2 began=$SECONDS
  shift 2
  timeout "$((most * ${PATIENCE:-1}))" "$@" > "$out/$name.txt" 2> "$out/$name.log"
  echo "$name: exit code $?, $((SECONDS - began)) s"
}
# Share of the matrix peak, kernels and overhead of a step, and the floor ratio of every table.
step bench 150 python3 -m repro bench --device "$device" --shapes "${SHAPES:-BERT-base,BERT-large}"
step bench-compiled 100 python3 -m repro bench --device "$device" --shapes "${SHAPES:-BERT-base}" \
  --compile
# BERT-large: full fine-tuning and adapters at whole batches, with peak memory.
read -ra large <<< "${LARGE:-Houlsby-1 --scale paper}"
step rehearse 90 python3 -m repro rehearse "${large[@]}" --device "$device" --tasks rte \
  --steps "${STEPS:-64}" "${batch[@]}"
# Real runs, uncapped unless options say otherwise.
step resadapters "$limit" python3 -m repro run ResAdapters-1 ResAdapters-2 \
  --scale "${SCALE:-reduced}" --device "$device" "$@"
for id in ResAdapters-1 ResAdapters-2; do
  step "$id" 15 python3 -m repro table "$id" --scale "${SCALE:-reduced}" --no-run --out "$out" "$@"
done
step plan 15 python3 -m repro plan ResAdapters-1 Houlsby-1 --scale paper
step pack 15 python3 -m repro store pack "$out/reference.jsonl.xz"
