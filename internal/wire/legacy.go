package wire

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CodeRemoved is the error code for a legacy read. Its reply has the form that old clients expect;
// see FailReply.
const CodeRemoved = mongoerr.Code(5739101)

// errRemoved returns the error for a legacy read.
func errRemoved(op string) error {
	return mongoerr.New(CodeRemoved, "%s is no longer supported. The client driver may require an upgrade.", op)
}

// parseQuery parses an OP_QUERY. After the header it has:
//
//	flags (4) | collection 0x00 | numberToSkip (4) | numberToReturn (4) | query document | fields document (optional)
func (m *Message) parseQuery(b []byte) error {
	m.Legacy = true
	if len(b) < 4 {
		return ErrMalformed
	}
	b = b[4:]
	end := bytes.IndexByte(b, 0)
	if end < 0 || len(b)-end-1 < 8 {
		return ErrMalformed
	}
	m.Namespace = string(b[:end])
	if !strings.HasSuffix(m.Namespace, ".$cmd") {
		return errRemoved("OP_QUERY")
	}
	doc, rest, err := cutDoc(b[end+9:])
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		if _, _, err = cutDoc(rest); err != nil {
			return err
		}
	}
	m.Body = unwrapQuery(doc)
	return nil
}

// unwrapQuery returns the command in {$query: …, $readPreference: …}, which drivers send to a
// mongos.
func unwrapQuery(doc bsonx.Doc) bsonx.Doc {
	if first := doc.First(); string(first.Key) == "$query" || string(first.Key) == "query" {
		if first.Value.Type == bsonx.TypeDocument {
			return first.Value.Doc()
		}
	}
	return doc
}

// BeginReply appends the start of an OP_REPLY with one document. The caller appends the document
// and calls FinishReply.
func BeginReply(dst []byte, requestID, responseTo int32) (out []byte, start int) {
	const awaitCapable = 8
	start = len(dst)
	dst = appendHeader(dst, requestID, responseTo, OpReply)
	dst = binary.LittleEndian.AppendUint32(dst, awaitCapable)
	dst = binary.LittleEndian.AppendUint64(dst, 0) // cursor id
	dst = binary.LittleEndian.AppendUint32(dst, 0) // starting from
	return binary.LittleEndian.AppendUint32(dst, 1), start
}

// FailReply marks the OP_REPLY that begins at start as a failed read. Its document is {$err, code}.
func FailReply(dst []byte, start int) {
	const queryFailure = 2
	binary.LittleEndian.PutUint32(dst[start+HeaderLen:], queryFailure)
}

// FinishReply completes the OP_REPLY that begins at start.
func FinishReply(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}
