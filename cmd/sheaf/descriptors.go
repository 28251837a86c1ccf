package main

import (
	"fmt"

	"github.com/sheafdb/sheaf"
)

// These constants count file descriptors of a server.
const (
	// storeFiles is how many data files the store keeps open if the process may open enough files.
	// leastStoreFiles is how many it keeps open at least.
	storeFiles      = 1000
	leastStoreFiles = 100
	// otherFiles is the allowance for the log, the manifest, files of flushes and compactions,
	// listeners and spilled sorts.
	otherFiles = 100
	// leastConnections is the smallest number of connections with which a server is useful.
	leastConnections = 24
)

// limitFiles divides the file descriptors of the process between the store and the connections. So
// a client that opens many connections cannot take the descriptors that the store needs for
// writing. limit is the number of files that the process may open, 0 if it is unknown.
func limitFiles(o *sheaf.Options, limit int) error {
	if limit == 0 {
		return nil
	}
	if least := leastStoreFiles + otherFiles + leastConnections; limit < least {
		return fmt.Errorf("the process may open %d files and needs %d: raise the limit (ulimit -n, LimitNOFILE)", limit, least)
	}
	o.MaxOpenFiles = min(storeFiles, max(leastStoreFiles, limit/4))
	o.MaxConnections = min(o.MaxConnections, limit-o.MaxOpenFiles-otherFiles)
	return nil
}
