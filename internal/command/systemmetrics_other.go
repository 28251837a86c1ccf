//go:build !linux

package command

import "github.com/sheafdb/sheaf/internal/bsonx"

// appendSystemMetrics appends nothing: only Linux tells these figures by files.
func appendSystemMetrics(*bsonx.Builder) {}
