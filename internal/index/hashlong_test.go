package index

import (
	"crypto/md5" //nolint:gosec // MongoDB's hash of index keys
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestHashOfLongValues hashes values that are hashed in several pieces.
func TestHashOfLongValues(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, hashedAtOnce - 16, hashedAtOnce, hashedAtOnce + 1, 5*hashedAtOnce + 7} {
		v := bsonx.String(strings.Repeat("long", n/4+1)[:n])
		input := append([]byte{0, 0, 0, 0, 15, 0, 0, 0}, v.Data...)
		sum := md5.Sum(input) //nolint:gosec // see above
		got, err := HashedKey(v, nil)
		if want := int64(binary.LittleEndian.Uint64(sum[:])); err != nil || got != want {
			t.Errorf("%d bytes: %d instead of %d, %v", n, got, want, err)
		}
	}
}
