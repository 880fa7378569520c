"""Values that rules, stores and conversions share."""
