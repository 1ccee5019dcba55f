#!/usr/bin/env bash
# Builds the wheel, installs it in a fresh virtual environment and tests it. Needs python3 with venv, a Rust toolchain and
# a package index. `WARPLINE_PYTHON=triton` also installs triton and runs the tests with its compiler;
# `WARPLINE_PYTHON=triton,ray` installs ray and pyarrow, too. Tests of Slurm and GNU parallel run where these are installed.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet '.[test]'
case ${WARPLINE_PYTHON:-} in *triton*) "$work/venv/bin/pip" install --quiet triton==3.9.0 ;; esac
case ${WARPLINE_PYTHON:-} in *ray*) "$work/venv/bin/pip" install --quiet 'ray>=2.40' pyarrow ;; esac
"$work/venv/bin/warpline" --version
# From another folder, so that the installed package is tested and not this source.
tests=$PWD/tests
cd "$work"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$tests"
