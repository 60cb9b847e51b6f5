mod share;
