package main

import (
	"fmt"

	"github.com/sheafdb/sheaf"
)

// A server needs file descriptors for these purposes, in addition to its connections.
const (
	// storeFiles is how many data files the store keeps open if the limit allows it.
	// leastStoreFiles is the minimum.
	storeFiles      = 1000
	leastStoreFiles = 100
	// otherFiles counts the log, the manifest, files of flushes and compactions, listeners and
	// spilled sorts.
	otherFiles = 100
	// leastConnections is the smallest number of connections that makes a server useful.
	leastConnections = 24
)

// limitFiles divides the file descriptors of the process between the store and the connections. So
// a client that opens many connections cannot take the descriptors that the store needs for
// writing. A limit of 0 means unknown.
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
