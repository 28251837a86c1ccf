package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// OpCode is the operation code of a message.
type OpCode int32

// The operation codes. Of the legacy codes between OpReply and OpKillCursors only OpQuery may carry
// a command, and only for the first hello of a connection.
const (
	OpReply       OpCode = 1
	OpUpdate      OpCode = 2001
	OpInsert      OpCode = 2002
	OpQuery       OpCode = 2004
	OpGetMore     OpCode = 2005
	OpDelete      OpCode = 2006
	OpKillCursors OpCode = 2007
	OpCompressed  OpCode = 2012
	OpMsg         OpCode = 2013
)

// Flags are OP_MSG's flag bits. An unknown flag in the lower 16 bits is an error.
type Flags uint32

// The flag bits.
const (
	FlagChecksumPresent Flags = 1 << 0
	FlagMoreToCome      Flags = 1 << 1
	FlagExhaustAllowed  Flags = 1 << 16

	requiredFlags Flags = 0xffff
	knownRequired       = FlagChecksumPresent | FlagMoreToCome
)

// Sizes of the protocol.
const (
	HeaderLen = 16

	checksumLen = 4
)

// Location codes of malformed messages.
const (
	codeDuplicateBody     = mongoerr.Code(40430)
	codeDuplicateSequence = mongoerr.Code(40431)
	codeUnknownSection    = mongoerr.Code(40432)
	codeBodyAndSequence   = mongoerr.Code(40433)
	codeNoBody            = mongoerr.Code(40587)
)

// ErrMalformed is the error for a message so malformed that no reply to it is possible. The server
// closes the connection.
var ErrMalformed = errors.New("malformed message")

// ErrUnanswered means a removed operation without a reply: OP_INSERT, OP_UPDATE, OP_DELETE or
// OP_KILL_CURSORS. Its client would take a reply for the reply to its next request. The connection
// is closed.
var ErrUnanswered = errors.New("removed operation code")

// IsFatal reports whether the connection must be closed after an error of this package.
func IsFatal(err error) bool {
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Code {
	case mongoerr.IllegalOpMsgFlag, mongoerr.ChecksumMismatch, mongoerr.TooManyDocumentSequences:
		return true
	default:
		return false
	}
}

// Header is the start of every message.
type Header struct {
	Length     int32
	RequestID  int32
	ResponseTo int32
	OpCode     OpCode
}

// ParseHeader reads a header and checks its length field. b holds at least HeaderLen bytes.
func ParseHeader(b []byte) (Header, error) {
	h := Header{
		Length:     int32(binary.LittleEndian.Uint32(b)),
		RequestID:  int32(binary.LittleEndian.Uint32(b[4:])),
		ResponseTo: int32(binary.LittleEndian.Uint32(b[8:])),
		OpCode:     OpCode(binary.LittleEndian.Uint32(b[12:])),
	}
	if h.Length < HeaderLen || h.Length > limits.MessageBytes {
		return h, fmt.Errorf("%w: message length %d", ErrMalformed, h.Length)
	}
	return h, nil
}

// Sequence is a section of kind 1: documents for an array field of the body.
type Sequence struct {
	ID   string
	data []byte
	n    int
}

// Len returns the number of documents.
func (s *Sequence) Len() int { return s.n }

// Size returns the documents' length in bytes.
func (s *Sequence) Size() int { return len(s.data) }

// Docs yields the documents, which borrow the message's buffer.
func (s *Sequence) Docs(yield func(int, bsonx.Doc) bool) {
	rest := s.data
	for i := 0; len(rest) > 0; i++ {
		n := binary.LittleEndian.Uint32(rest)
		if !yield(i, bsonx.Doc(rest[:n:n])) {
			return
		}
		rest = rest[n:]
	}
}

// Message is a parsed request. It borrows the buffer from which it was parsed.
type Message struct {
	Header
	Flags     Flags
	Body      bsonx.Doc
	Sequences []Sequence
	// Ending is the offset in Body of the fields with which an earlier message's Body ended, too.
	// It is 0 if there are no such fields. See ParseAfter.
	Ending int
	// known is the ending of an earlier Body.
	known []byte
	// Compressor is the compressor of the message, or CompressorNone for a plain message. The reply
	// uses the same one.
	Compressor Compressor
	// Unpacked is the length of a compressed message before its compression; 0 for a plain message.
	Unpacked int
	// Owned means that the message does not borrow the buffer from which it was parsed, because it
	// was compressed.
	Owned bool
	// Legacy is set for an OP_QUERY and an OP_GET_MORE. Their reply is an OP_REPLY. Namespace is
	// the collection of an OP_QUERY.
	Legacy    bool
	Namespace string
}

// reset keeps the capacity of Sequences.
func (m *Message) reset() {
	*m = Message{Sequences: m.Sequences[:0]}
}

// Release drops the borrowed buffer. The header stays.
func (m *Message) Release() {
	sequences := m.Sequences[:cap(m.Sequences)]
	clear(sequences)
	m.Body, m.Sequences, m.known = nil, sequences[:0], nil
}

// Parse parses a whole message, header included, into m. After an error for which IsFatal is false,
// m has its header, so that a reply is possible.
func Parse(m *Message, buf []byte) error { return ParseAfter(m, buf, nil) }

// ParseAfter is Parse for a message that may end with the same fields as an earlier one, whose Body
// ended with ending. Drivers send the session, the cluster time and the database with every
// command. Such fields are not validated again.
func ParseAfter(m *Message, buf, ending []byte) error {
	m.reset()
	m.known = ending
	if len(buf) < HeaderLen {
		return fmt.Errorf("%w: %d bytes", ErrMalformed, len(buf))
	}
	h, err := ParseHeader(buf)
	if err != nil {
		return err
	}
	if int(h.Length) != len(buf) {
		return fmt.Errorf("%w: length %d of %d bytes", ErrMalformed, h.Length, len(buf))
	}
	m.Header = h
	body := buf[HeaderLen:]
	if h.OpCode == OpCompressed {
		if body, err = m.decompress(body); err != nil {
			return err
		}
	}
	switch m.OpCode {
	case OpMsg:
		return m.parseMsg(body, buf)
	case OpQuery:
		return m.parseQuery(body)
	case OpGetMore:
		m.Legacy = true
		return errRemoved("OP_GET_MORE")
	case OpUpdate, OpInsert, OpDelete, OpKillCursors:
		return fmt.Errorf("%w %d", ErrUnanswered, m.OpCode)
	default:
		return fmt.Errorf("%w: operation code %d", ErrMalformed, m.OpCode)
	}
}

// ReadMessage reads one message into buf, which grows as needed, and returns it. It returns io.EOF
// if the peer closed the connection between two messages.
func ReadMessage(r io.Reader, buf []byte) ([]byte, error) {
	if cap(buf) < HeaderLen {
		buf = make([]byte, 0, 512)
	}
	buf = buf[:HeaderLen]
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf[:0], err
	}
	h, err := ParseHeader(buf)
	if err != nil {
		return buf[:0], err
	}
	return ReadRest(r, buf, int(h.Length))
}

// growStep limits the memory that is allocated before the client has sent the bytes.
const growStep = 1 << 20

// ReadRest reads the rest of a message with the given length. buf has the beginning.
func ReadRest(r io.Reader, buf []byte, length int) ([]byte, error) {
	for len(buf) < length {
		from := len(buf)
		to := min(length, max(cap(buf), from+growStep))
		if to > cap(buf) {
			grown := make([]byte, to, min(length, max(to, 2*cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:to]
		if _, err := io.ReadFull(r, buf[from:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return buf[:0], err
		}
	}
	return buf, nil
}
