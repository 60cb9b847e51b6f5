#!/bin/sh
# Makes certificates for a test of TLS on this machine: scripts/certificates.sh FOLDER [DAYS]
#
# FOLDER gets an authority (ca-cert.pem, ca-key.pem) and what it vouches for: a server (server-cert.pem,
# server-key.pem) for localhost and 127.0.0.1, and a client (client-cert.pem, client-key.pem). These are the names that
# QEMU, nbdkit and libnbd use.
set -eu
folder=$1
days=${2:-30}
mkdir -p "$folder"
cd "$folder"
cat >config.cnf <<'END'
[req]
distinguished_name = name
prompt = no
[name]
CN = headstack test
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
[server]
basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1
[client]
basicConstraints = CA:FALSE
extendedKeyUsage = clientAuth
END
make_certificate() {
    openssl req -x509 -config config.cnf -extensions "$1" -subj "/CN=$2" -days "$days" -nodes \
        -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -keyout "$3-key.pem" -out "$3-cert.pem" $4 2>/dev/null
}
make_certificate authority 'headstack test authority' ca ''
make_certificate server localhost server '-CA ca-cert.pem -CAkey ca-key.pem'
make_certificate client 'headstack test client' client '-CA ca-cert.pem -CAkey ca-key.pem'
rm config.cnf
