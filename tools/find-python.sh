#!/bin/sh
# Prints a Python that is new enough and can make virtual environments, or says what to install and
# exits with status 2. PYTHON names the only one to look at.

seen=
for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    case $version in
        3.1[1-9] | 3.[2-9][0-9]) ;;
        *) seen="$seen $python is $version;"; continue ;;
    esac
    # Debian and Ubuntu leave ensurepip out of python3; it comes with python3-venv.
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$python"
        exit 0
    fi
    seen="$seen $python is $version but has no venv with pip;"
done

exec >&2
echo "wirespeed needs Python 3.11 or newer, with venv. Found:${seen:- none of ${PYTHON:-python3, python3.11 to 3.14};}" |
    sed 's/;$/./'
echo "Install it:    apt-get install -y python3 python3-venv make"
echo "or name one:   make PYTHON=/path/to/python3.11 ..."
exit 2
