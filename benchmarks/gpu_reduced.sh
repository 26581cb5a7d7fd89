#!/usr/bin/env bash
# The rows of 3-shared-2 on whole tasks at reduced scale, three seeds, and the heat map on CoLA.
#
#     benchmarks/gpu_reduced.sh OUT [options of `repro run`, such as --train-rows 100]
#
# Steps of a small encoder are bound by kernel launches, so several workers share the GPU. OUT gets
# the artefacts, the log and a bundle.
set -uo pipefail
out=$1
shift
export REPRO_STORE=$out/store PYTHONUNBUFFERED=1
mkdir -p "$out"
began=$SECONDS
timeout "${LIMIT:-460}" python3 -m repro run 3-shared-2 --scale reduced --seeds 3 \
  --tasks cola,sst2,mrpc,stsb,rte --workers "${WORKERS:-14}" --threads 1 "$@" > "$out/run.log" 2>&1
echo "training: $((SECONDS - began)) s"
python3 -m repro table 3-shared-2 --scale reduced --seeds 3 --tasks cola,sst2,mrpc,stsb,rte \
  --no-run --out "$out" "$@"
began=$SECONDS
timeout 120 python3 -m repro figure ablation-heatmap --scale reduced --out "$out" "$@"
echo "heat map: $((SECONDS - began)) s"
python3 - "$out" <<'PYTHON'
import sys
from pathlib import Path

from repro.store.store import Store

store = Store(Path(sys.argv[1]) / "store")
seconds = [store.read(key).environment() for key in store.keys()]
for line in sorted({(e["seconds"], e["device_name"], e.get("tokens_per_second", 0), len(e["members"]), e["peak_memory_bytes"]) for e in seconds}):
    print(line)
PYTHON
python3 -m repro pack "$out/reference.jsonl.xz"
