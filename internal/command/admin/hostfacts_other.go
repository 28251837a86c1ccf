//go:build !linux

package admin

import "github.com/sheafdb/sheaf/internal/bsonx"

// readHost knows nothing of the machine here.
func readHost() hostFacts { return hostFacts{} }

func (*hostFacts) appendExtra(*bsonx.Builder) {}
