#!/bin/sh
# CHOLMOD through scikit-sparse, which is built here and needs the SuiteSparse headers. It is optional:
# without it everything works, with another linear solver. Usage: install_cholmod.sh PYTHON
python=$1
packages="libsuitesparse-dev libopenblas0-pthread"
headers=/usr/include/suitesparse/cholmod.h

if "$python" -c "import sksparse.cholmod" 2>/dev/null; then
    exit 0
fi
if [ ! -e "$headers" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get -qq update && apt-get -qq -y install --no-install-recommends $packages >/dev/null
fi
if [ ! -e "$headers" ]; then
    echo "CHOLMOD is left out: it needs the SuiteSparse headers. To have it, run"
    echo "    sudo apt-get install $packages && rm .venv/.ready-dev && make test"
    exit 0
fi
"$python" -m pip --disable-pip-version-check --quiet install --editable ".[cholmod]" ||
    echo "CHOLMOD is left out: scikit-sparse did not build on this machine."
exit 0
