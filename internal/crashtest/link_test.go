package crashtest

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// link is a connection without a driver. It can send the same bytes of a command again.
type link struct {
	conn net.Conn
	last uint32
}

func dial(addr string) (*link, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &link{conn: conn}, nil
}

const (
	opMsg      = 2013
	headerSize = 16
	// body is the size of the parts before the document: the flags and the kind of the section.
	body = headerSize + 4 + 1
	// longestAnswer is the time after which a server without a reply counts as hanging.
	longestAnswer = time.Minute
)

// ask sends a command and returns the reply.
func (l *link) ask(cmd bson.D) (bson.Raw, error) {
	doc, err := bson.Marshal(cmd)
	if err != nil {
		return nil, err
	}
	l.last++
	msg := binary.LittleEndian.AppendUint32(nil, uint32(body+len(doc)))
	msg = binary.LittleEndian.AppendUint32(msg, l.last)
	msg = binary.LittleEndian.AppendUint32(msg, 0)
	msg = binary.LittleEndian.AppendUint32(msg, opMsg)
	msg = append(msg, make([]byte, body-headerSize)...)
	if err := l.conn.SetDeadline(time.Now().Add(longestAnswer)); err != nil {
		return nil, err
	}
	if _, err := l.conn.Write(append(msg, doc...)); err != nil {
		return nil, err
	}
	head := make([]byte, body)
	if _, err := io.ReadFull(l.conn, head); err != nil {
		return nil, err
	}
	if to := binary.LittleEndian.Uint32(head[8:]); to != l.last {
		return nil, fmt.Errorf("the answer is to request %d, not to %d", to, l.last)
	}
	reply := make(bson.Raw, binary.LittleEndian.Uint32(head)-body)
	_, err = io.ReadFull(l.conn, reply)
	return reply, err
}

// newSession returns a session for commands that are sent without a driver.
func newSession(rng *rand.Rand) bson.D {
	var id [16]byte
	for at := range id {
		id[at] = byte(rng.Uint32())
	}
	return bson.D{{"id", bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id[:]}}}
}

func (l *link) close() { _ = l.conn.Close() }
