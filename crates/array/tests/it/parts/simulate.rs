mod apart;
