"""`python -m wirespeed`: the command line."""

import sys

from wirespeed.cli import main

sys.exit(main())
