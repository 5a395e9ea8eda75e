"""`python -m benchmarks`. The processes that it starts load this file, too, but run nothing."""

import sys

if __name__ == "__main__":
    from benchmarks.run import main

    sys.exit(main())
