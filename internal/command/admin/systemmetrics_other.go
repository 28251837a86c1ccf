//go:build !linux

package admin

import "github.com/sheafdb/sheaf/internal/bsonx"

// systemMetrics returns nil: only Linux tells these figures by files.
func systemMetrics() func(*bsonx.Builder) { return nil }
