package command_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestNumberTexts checks that errors for numbers out of range show the limit of the numeric type.
func TestNumberTexts(t *testing.T) {
	t.Parallel()
	db := sheaftest.Open(t, nil).Client().Database("d")
	for _, tc := range []struct{ command, want string }{
		{`{"createIndexes":"c","indexes":[{"key":{"l":"2d"},"name":"l","bits":{"$numberDouble":"Infinity"}}]}`, "but 2147483647 bits"},
		{`{"createIndexes":"c","indexes":[{"key":{"l":"2d"},"name":"l","bits":{"$numberDouble":"NaN"}}]}`, "but 0 bits"},
		{`{"createIndexes":"c","indexes":[{"key":{"l":"2d"},"name":"l","bits":-1e20}]}`, "but -2147483648 bits"},
		{`{"createIndexes":"c","indexes":[{"key":{"l":"2d"},"name":"l","bits":{"$numberLong":"4294967297"}}]}`, "but 2147483647 bits"},
		{`{"createIndexes":"c","indexes":[{"key":{"l":"2d"},"name":"l","bits":{"$numberDecimal":"33.5"}}]}`, "but 34 bits"},
		{`{"createIndexes":"c","indexes":[{"key":{"l":"text"},"name":"l","textIndexVersion":{"$numberDouble":"Infinity"}}]}`, "textIndexVersion: 2147483647"},
		{`{"createIndexes":"c","indexes":[{"key":{"l":"text"},"name":"l","weights":{"l":1e20}}]}`, "but found: 2147483647"},
		{`{"find":"c","collation":{"locale":"en","strength":1e20}}`, "must be <= 5, actual value '2147483647'"},
		{`{"find":"c","collation":{"locale":"en","strength":{"$numberDouble":"-Infinity"}}}`, "must be >= 0, actual value '-2147483648'"},
		{`{"find":"c","maxTimeMS":{"$numberDouble":"NaN"}}`, "Expected an integer, but found NaN in: maxTimeMS: nan"},
		{`{"find":"c","maxTimeMS":-1e20}`, "Cannot represent as a 64-bit integer: maxTimeMS: -1e+20"},
		{`{"find":"c","maxTimeMS":{"$numberDecimal":"1.5"}}`, "Cannot represent as a 64-bit integer: maxTimeMS: 1.5"},
		{`{"find":"c","maxTimeMS":1.5}`, "Expected an integer: maxTimeMS: 1.5"},
	} {
		if err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, tc.command)).Err(); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.command, err, tc.want)
		}
	}
}
