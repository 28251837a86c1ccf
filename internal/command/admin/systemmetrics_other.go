//go:build !linux

package admin

import "github.com/sheafdb/sheaf/internal/bsonx"

// systemMetrics returns nil, because the statistics are only known on Linux.
func systemMetrics() func(*bsonx.Builder) { return nil }
