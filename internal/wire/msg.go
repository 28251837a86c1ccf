package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// OP_MSG after the header:
//
//	flags (4) | sections: 0x00 document, or 0x01 size (4) identifier 0x00 documents | checksum (4, where flagged)
const (
	sectionBody     = 0
	sectionSequence = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseMsg parses an OP_MSG. whole is the message with its header, which the checksum covers.
func (m *Message) parseMsg(b, whole []byte) error {
	if len(b) < 4 {
		return ErrMalformed
	}
	m.Flags = Flags(binary.LittleEndian.Uint32(b))
	if unknown := m.Flags & requiredFlags &^ knownRequired; unknown != 0 {
		return mongoerr.New(mongoerr.IllegalOpMsgFlag, "Message contains illegal flags value: Ob%b", uint32(m.Flags))
	}
	b = b[4:]
	if m.Flags&FlagChecksumPresent != 0 {
		if len(b) < checksumLen {
			return ErrMalformed
		}
		sum := binary.LittleEndian.Uint32(b[len(b)-checksumLen:])
		b = b[:len(b)-checksumLen]
		// The checksum of a compressed message covers the message before compression.
		if m.Compressor == CompressorNone && crc32.Checksum(whole[:len(whole)-checksumLen], castagnoli) != sum {
			return mongoerr.New(mongoerr.ChecksumMismatch, "OP_MSG checksum does not match contents")
		}
	}
	return m.parseSections(b)
}

func (m *Message) parseSections(b []byte) error {
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		var err error
		switch kind {
		case sectionBody:
			b, err = m.parseBody(b)
		case sectionSequence:
			b, err = m.parseSequence(b)
		default:
			err = mongoerr.New(codeUnknownSection, "Unknown section kind %d", kind)
		}
		if err != nil {
			return err
		}
	}
	if m.Body == nil {
		return mongoerr.New(codeNoBody, "OP_MSG messages must have a body")
	}
	return m.checkSequences()
}

func (m *Message) parseBody(b []byte) ([]byte, error) {
	if m.Body != nil {
		return nil, mongoerr.New(codeDuplicateBody, "Multiple body sections in message")
	}
	doc, rest, err := splitDoc(b)
	if err != nil {
		return nil, err
	}
	if m.Ending, err = bsonx.ValidateEnding(doc, bsonx.Limits{}, m.known); err != nil {
		return nil, err
	}
	m.Body = doc
	return rest, nil
}

func (m *Message) parseSequence(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errTruncated()
	}
	size := binary.LittleEndian.Uint32(b)
	if size < 5 || uint64(size) > uint64(len(b)) {
		return nil, mongoerr.New(mongoerr.Overflow, "Document sequence size %d is out of bounds", int32(size))
	}
	section, rest := b[4:size], b[size:]
	end := bytes.IndexByte(section, 0)
	if end < 0 {
		return nil, errTruncated()
	}
	seq := Sequence{ID: sequenceName(section[:end]), data: section[end+1:]}
	for i := range m.Sequences {
		if m.Sequences[i].ID == seq.ID {
			return nil, mongoerr.New(codeDuplicateSequence, "Duplicate document sequence: %s", seq.ID)
		}
	}
	docs := seq.data
	for len(docs) > 0 {
		var err error
		if _, docs, err = cutDoc(docs); err != nil {
			return nil, err
		}
		seq.n++
	}
	m.Sequences = append(m.Sequences, seq)
	return rest, nil
}

// sequenceName returns an identifier as a string, without an allocation for identifiers that
// commands use.
func sequenceName(b []byte) string {
	for _, name := range [...]string{"documents", "updates", "deletes", "ops", "nsInfo"} {
		if string(b) == name {
			return name
		}
	}
	return string(b)
}

// checkSequences returns an error if a field is both in the body and a sequence.
func (m *Message) checkSequences() error {
	for i := range m.Sequences {
		if id := m.Sequences[i].ID; !m.Body.Lookup(id).IsMissing() {
			return mongoerr.New(codeBodyAndSequence, "Duplicate field between body and document sequence %s", id)
		}
	}
	return nil
}

// cutDoc removes a document from the beginning of b and validates it.
func cutDoc(b []byte) (doc bsonx.Doc, rest []byte, err error) {
	if doc, rest, err = splitDoc(b); err != nil {
		return nil, nil, err
	}
	if err := validate(doc); err != nil {
		return nil, nil, err
	}
	return doc, rest, nil
}

// splitDoc removes a document from the beginning of b. It only checks the length.
func splitDoc(b []byte) (doc bsonx.Doc, rest []byte, err error) {
	if len(b) < 5 {
		return nil, nil, errTruncated()
	}
	n := binary.LittleEndian.Uint32(b)
	if n < 5 || uint64(n) > uint64(len(b)) {
		return nil, nil, mongoerr.New(mongoerr.InvalidBSON,
			"Invalid BSON: document length %d of %d bytes", int32(n), len(b))
	}
	return bsonx.Doc(b[:n:n]), b[n:], nil
}

func errTruncated() error {
	return mongoerr.New(mongoerr.InvalidBSON, "Invalid BSON: message section is truncated")
}

// BeginMsg appends the header and flags of an OP_MSG and the kind byte of its body. The caller
// appends the body document, and calls FinishMsg with the returned start.
func BeginMsg(dst []byte, requestID, responseTo int32, flags Flags) (out []byte, start int) {
	start = len(dst)
	dst = appendHeader(dst, requestID, responseTo, OpMsg)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(flags))
	return append(dst, sectionBody), start
}

// AppendSequence appends a section of kind 1 to an OP_MSG whose body is complete.
func AppendSequence(dst []byte, id string, docs ...bsonx.Doc) []byte {
	dst = append(dst, sectionSequence)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(append(dst, id...), 0)
	for _, d := range docs {
		dst = append(dst, d...)
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at))
	return dst
}

// FinishMsg completes the message that begins at start. It writes the checksum, if the flags ask
// for it, and the length.
func FinishMsg(dst []byte, start int) []byte {
	checksum := Flags(binary.LittleEndian.Uint32(dst[start+HeaderLen:]))&FlagChecksumPresent != 0
	length := len(dst) - start
	if checksum {
		length += checksumLen
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(length))
	if checksum {
		dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	}
	return dst
}

// SetMoreToCome marks the unfinished message that begins at start: another message will follow.
func SetMoreToCome(dst []byte, start int) {
	flags := Flags(binary.LittleEndian.Uint32(dst[start+HeaderLen:]))
	binary.LittleEndian.PutUint32(dst[start+HeaderLen:], uint32(flags|FlagMoreToCome))
}

func appendHeader(dst []byte, requestID, responseTo int32, op OpCode) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(requestID))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(responseTo))
	return binary.LittleEndian.AppendUint32(dst, uint32(op))
}
