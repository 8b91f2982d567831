"""Where labelled sets come from; one file a layout."""
