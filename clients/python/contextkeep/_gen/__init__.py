"""Values of all protos, made by `make proto`: `contextkeep.values` has them."""

import contextkeep.values  # first, so that modules of both packages are imported in one order
