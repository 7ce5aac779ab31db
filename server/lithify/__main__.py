"""`python -m lithify`: the same as the `lithify` command."""

import sys

from lithify.cli.main import main

sys.exit(main())
