mod parameters;
