#!/usr/bin/env bash
# Builds the wheel, installs it in a fresh virtual environment and tests it. Needs python3 with venv, a Rust toolchain and
# a package index. `WARPLINE_PYTHON=triton` also installs triton and runs the tests with its compiler.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet '.[test]'
[ "${WARPLINE_PYTHON:-}" != triton ] || "$work/venv/bin/pip" install --quiet triton==3.9.0
"$work/venv/bin/warpline" --version
# From another folder, so that the installed package is tested and not this source.
tests=$PWD/tests
cd "$work"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$tests"
