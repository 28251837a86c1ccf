//go:build !linux

package admin

import "github.com/sheafdb/sheaf/internal/bsonx"

// readHost returns no facts, because they are only known on Linux.
func readHost() hostFacts { return hostFacts{} }

func (*hostFacts) appendExtra(*bsonx.Builder) {}
