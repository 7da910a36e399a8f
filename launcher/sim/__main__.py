import sys

from launcher.sim.process import main

sys.exit(main())
