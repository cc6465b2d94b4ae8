#!/usr/bin/env bash
# Everything that a machine with a GPU can tell of typednn, in one run: bash benchmarks/on_gpu.sh [FOLDER]
#
# Needs Python with NumPy, CuPy, jaxtyping and pytest; PyTorch with CUDA is the peer of the timings. What else typednn needs may be missing
# there, and no network: wheels in .wheels/ are installed beside it, none of which git keeps:
#
#     pip download --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux2014_x86_64 -d .wheels beartype tree-sitter tree-sitter-toml
#
# Parts run in the order of their worth. Each has its own limit in seconds, and its output in FOLDER (default: out/gpu) whatever becomes of it.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out="${1:-out/gpu}"
mkdir -p "$out"
if compgen -G '.wheels/*.whl' > /dev/null; then
    python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target "${TMPDIR:-/tmp}/typednn-wheels" .wheels/*.whl
    export PYTHONPATH="${TMPDIR:-/tmp}/typednn-wheels:$PWD"
fi
failed=()
# Halide, which computes on the CPU, may be missing; each of 12 processes has the GPU.
pytest=(-q -n 12 -p no:cacheprovider -p no:benchmark --tb=short -W "ignore:typednn runs its slow:RuntimeWarning")

part() { # part NAME SECONDS COMMAND...
    local name="$1" limit="$2" start=$SECONDS
    shift 2
    printf '\n== %s\n' "$name"
    PYTHONUNBUFFERED=1 timeout -k 5 "$limit" "$@" > "$out/$name.txt" 2>&1
    local code=$?
    tail -n 25 "$out/$name.txt"
    printf -- '-- %s: exit code %d after %d s\n' "$name" "$code" "$((SECONDS - start))"
    [ "$code" -eq 0 ] || failed+=("$name")
}

gpu_tests=(python3 -m pytest "${pytest[@]}" -m gpu)
part machine 30 bash -c 'nvidia-smi -L; python3 -c "import sys, numpy, cupy; print(sys.version); print(\"numpy\", numpy.__version__, \"cupy\", cupy.__version__); print(cupy.cuda.runtime.getDeviceProperties(0)[\"name\"])"'
part kernels 60 "${gpu_tests[@]}" tests/kernels/cuda tests/backends
part laws 60 "${gpu_tests[@]}" tests/laws
part nccl 60 "${gpu_tests[@]}" -n 0 tests/parallel/test_nccl.py
part networks 120 python3 -m benchmarks.gpu --seconds 1
part gpt2 120 python3 -m benchmarks.gpu_gpt2
if command -v compute-sanitizer > /dev/null; then
    part sanitizer 60 compute-sanitizer --tool memcheck --error-exitcode 1 "${gpu_tests[@]}" -n 0 tests/kernels/cuda -k "nan or samples or count or slopes_of_layer"
fi
printf '\n%s\n' "${failed[*]:+failed: }${failed[*]:-all parts passed}"
[ "${#failed[@]}" -eq 0 ]
