package changestream

import (
	"encoding/hex"
	"math"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The kinds of tokens: tokens of events, and tokens that cover everything up to a stamp.
const (
	highWater  = 0
	eventToken = 128
)

// tokenVersion is the version of the tokens that MongoDB writes since 6.0.
const tokenVersion = 2

// Token is a position in the sequence of all events.
type Token struct {
	Stamp storage.Stamp
	kind  int32
	// Index is the position of the operation in its transaction.
	Index int32
	// FromInvalidate is true for the token of an invalidate event. It follows the token of the
	// event that caused the invalidate event.
	FromInvalidate bool
	// Fragment is the number of a fragment of a split event, or 0 for a whole event.
	Fragment int32
}

// sameEvent reports whether two tokens belong to the same event, or to its fragments.
func (t *Token) sameEvent(u *Token) bool {
	return t.Stamp == u.Stamp && t.kind == u.kind && t.Index == u.Index && t.FromInvalidate == u.FromInvalidate
}

// Doc returns the resume token for clients: {_data: hexadecimal}. what has the type and the
// document key of the event.
func (t Token) Doc(what bsonx.Value) bsonx.Doc {
	key := keystring.Append(nil, bsonx.Timestamp(t.Stamp.Seconds(), t.Stamp.Number()), false)
	key = keystring.Append(key, bsonx.Int32(tokenVersion), false)
	key = keystring.Append(key, bsonx.Int32(t.kind), false)
	key = keystring.Append(key, bsonx.Int32(t.Index), false)
	key = keystring.Append(key, bsonx.Bool(t.FromInvalidate), false)
	if t.kind == eventToken {
		key = keystring.Append(key, what, false)
	}
	return bsonx.NewDoc("_data", strings.ToUpper(hex.EncodeToString(key)))
}

// highWaterToken returns the token of the position after all events up to a stamp.
func highWaterToken(stamp storage.Stamp) bsonx.Doc { return Token{Stamp: stamp}.Doc(bsonx.Missing) }

// fragmentToken returns the token of a fragment. event is the token of the whole event, and number
// is the fragment's number, from 1.
func fragmentToken(event bsonx.Doc, number int) bsonx.Doc {
	key := keystring.Append(nil, bsonx.Int32(int32(number)), false)
	return bsonx.NewDoc("_data", event.Lookup("_data").Str()+strings.ToUpper(hex.EncodeToString(key)))
}

// parseToken decodes the document of a resume token, {_data: hexadecimal}.
func parseToken(doc bsonx.Doc) (Token, error) {
	var t Token
	data := doc.Lookup("_data")
	if data.Type != bsonx.TypeString {
		return t, mongoerr.New(40649, "Resume token must have a _data field of type string, found %s", data.Type)
	}
	key, err := hex.DecodeString(data.Str())
	if err != nil {
		return t, badToken()
	}
	values := make([]bsonx.Value, 0, 7)
	for len(key) > 0 && len(values) < cap(values) {
		v, n, _, err := keystring.Decode(nil, key, false, nil)
		if err != nil {
			return t, badToken()
		}
		values, key = append(values, v), key[n:]
	}
	if len(values) < 5 {
		return t, badToken()
	}
	kind, kindOK := values[2].AsExactInt64()
	index, indexOK := values[3].AsExactInt64()
	if values[0].Type != bsonx.TypeTimestamp || values[4].Type != bsonx.TypeBool || !kindOK || !indexOK ||
		kind != highWater && kind != eventToken {
		return t, badToken()
	}
	t = Token{
		Stamp: storage.NewStamp(values[0].Timestamp()), kind: int32(kind), Index: int32(index),
		FromInvalidate: values[4].Bool(),
	}
	if len(values) > 6 {
		n, ok := values[6].AsExactInt64()
		if !ok || n < 1 || n > math.MaxInt32 {
			return t, badToken()
		}
		t.Fragment = int32(n)
	}
	return t, nil
}

func badToken() error {
	return mongoerr.New(mongoerr.FailedToParse, "resume token string was not a valid hex string of a change stream's token")
}
