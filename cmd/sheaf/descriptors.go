package main

import (
	"fmt"

	"github.com/sheafdb/sheaf"
)

// What a server needs descriptors for, beside its connections.
const (
	// storeFiles is how many data files the store keeps open where it may, leastStoreFiles where it must.
	storeFiles      = 1000
	leastStoreFiles = 100
	// otherFiles are the log, the manifest, files of flushes and compactions, listeners, spilled sorts.
	otherFiles = 100
	// leastConnections is with how many connections a server is of use.
	leastConnections = 24
)

// limitFiles divides the descriptors of the process, of which there are limit, between the store and the connections: a client
// that opens many must not take those that the store writes with. limit is 0 where it is not known.
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
