package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func msg(flags Flags, body bsonx.Doc, seqs ...[]bsonx.Doc) []byte {
	out, start := BeginMsg(nil, 7, 3, flags)
	out = append(out, body...)
	for i, docs := range seqs {
		out = AppendSequence(out, string(rune('a'+i)), docs...)
	}
	return FinishMsg(out, start)
}

var ping = bsonx.NewDoc("ping", 1, "$db", "admin")

func TestRoundTrip(t *testing.T) {
	docs := []bsonx.Doc{bsonx.NewDoc("x", 1), bsonx.NewDoc("x", "two"), bsonx.Empty}
	for _, flags := range []Flags{0, FlagChecksumPresent, FlagMoreToCome | FlagExhaustAllowed, 1 << 20} {
		plain := msg(flags, ping, docs, nil)
		for c := range codecs {
			sent := plain
			if Compressor(c) != CompressorNone || flags&FlagChecksumPresent == 0 {
				var err error
				if sent, err = Compress(nil, plain, Compressor(c)); err != nil {
					t.Fatal(err)
				}
			}
			var m Message
			if err := Parse(&m, sent); err != nil {
				t.Fatalf("flags %x, %s: %v", flags, Compressor(c), err)
			}
			if m.RequestID != 7 || m.ResponseTo != 3 || m.Flags != flags ||
				!m.Body.Equal(ping) || len(m.Sequences) != 2 {
				t.Fatalf("flags %x, %s: parsed %+v", flags, Compressor(c), m)
			}
			if m.Sequences[0].Len() != 3 || m.Sequences[1].Len() != 0 {
				t.Fatalf("sequences of %d and %d documents", m.Sequences[0].Len(), m.Sequences[1].Len())
			}
			for i, d := range m.Sequences[0].Docs {
				if !d.Equal(docs[i]) {
					t.Fatalf("document %d is %x", i, d)
				}
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	change := func(b []byte, at int, v ...byte) []byte {
		out := bytes.Clone(b)
		copy(out[at:], v)
		return out
	}
	good := msg(0, ping)
	checked := msg(FlagChecksumPresent, ping)
	lengthen := func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b, uint32(len(b)))
		return b
	}
	bad, _ := Compress(nil, good, CompressorSnappy)
	bomb := change(bad, 20, 0xff, 0xff, 0xff, 0x7f)
	noBody, start := BeginMsg(nil, 1, 0, 0)
	noBody = FinishMsg(AppendSequence(noBody[:len(noBody)-1], "a"), start)
	twice := msg(0, ping, nil)
	twice = lengthen(AppendSequence(twice, "a"))
	for name, c := range map[string]struct {
		in    []byte
		code  mongoerr.Code // 0: no reply at all
		fatal bool
	}{
		"empty":                 {nil, 0, true},
		"short length":          {change(good, 0, 5, 0, 0, 0), 0, true},
		"huge length":           {change(good, 0, 0xff, 0xff, 0xff, 0x7f), 0, true},
		"negative length":       {change(good, 0, 0xff, 0xff, 0xff, 0xff), 0, true},
		"length of another":     {good[:len(good)-1], 0, true},
		"unknown opcode":        {change(good, 12, 0x42, 0), 0, true},
		"legacy update":         {change(good, 12, 0xd1, 7), 0, true},
		"legacy insert":         {change(good, 12, 0xd2, 7), 0, true},
		"legacy getMore":        {change(good, 12, 0xd5, 7), CodeRemoved, false},
		"legacy delete":         {change(good, 12, 0xd6, 7), 0, true},
		"legacy killCursors":    {change(good, 12, 0xd7, 7), 0, true},
		"required flag":         {change(good, HeaderLen, 0x80), mongoerr.IllegalOpMsgFlag, true},
		"wrong checksum":        {change(checked, len(checked)-1, checked[len(checked)-1]+1), mongoerr.ChecksumMismatch, true},
		"unknown section":       {change(good, HeaderLen+4, 9), codeUnknownSection, false},
		"no body":               {noBody, codeNoBody, false},
		"two bodies":            {lengthen(append(append(bytes.Clone(good), sectionBody), ping...)), codeDuplicateBody, false},
		"sequence twice":        {twice, codeDuplicateSequence, false},
		"field and sequence":    {msg(0, bsonx.NewDoc("insert", "c", "a", 1), nil), codeBodyAndSequence, false},
		"document too long":     {change(good, HeaderLen+5, 0xff, 0xff), mongoerr.InvalidBSON, false},
		"document length 4":     {change(good, HeaderLen+5, 4, 0, 0, 0), mongoerr.InvalidBSON, false},
		"truncated compression": {lengthen(bytes.Clone(bad[:HeaderLen+5])), 0, true},
		"compression bomb":      {bomb, 0, true},
		"unknown compressor":    {change(bad, HeaderLen+8, 99), 0, true},
		"broken snappy":         {change(bad, HeaderLen+9, 0xff, 0xff, 0xff, 0xff, 0xff), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			var m Message
			err := Parse(&m, c.in)
			if err == nil {
				t.Fatal("accepted")
			}
			if IsFatal(err) != c.fatal {
				t.Errorf("fatal is %v: %v", IsFatal(err), err)
			}
			if c.code != 0 && mongoerr.CodeOf(err) != c.code {
				t.Errorf("code %d: %v", mongoerr.CodeOf(err), err)
			}
		})
	}
}

func TestDecompressionStaysWithinStatedSize(t *testing.T) {
	zeros := make([]byte, 8<<20)
	plain := append(make([]byte, HeaderLen), zeros...)
	for _, id := range []Compressor{CompressorSnappy, CompressorZlib, CompressorZstd} {
		packed, err := Compress(nil, plain, id)
		if err != nil {
			t.Fatal(err)
		}
		binary.LittleEndian.PutUint32(packed[12:], uint32(OpCompressed))
		binary.LittleEndian.PutUint32(packed[HeaderLen+4:], 100)
		var m Message
		if err := Parse(&m, packed); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestLegacyQuery(t *testing.T) {
	build := func(ns string, doc bsonx.Doc) []byte {
		b := appendHeader(nil, 9, 0, OpQuery)
		b = append(b, 0, 0, 0, 0)
		b = append(append(b, ns...), 0)
		b = append(b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
		b = append(b, doc...)
		binary.LittleEndian.PutUint32(b, uint32(len(b)))
		return b
	}
	hello := bsonx.NewDoc("isMaster", 1)
	for _, doc := range []bsonx.Doc{
		hello,
		bsonx.NewDoc("$query", hello, "$readPreference", bsonx.NewDoc("mode", "primary")),
	} {
		var m Message
		if err := Parse(&m, build("admin.$cmd", doc)); err != nil {
			t.Fatal(err)
		}
		if !m.Legacy || m.Namespace != "admin.$cmd" || !m.Body.Equal(hello) {
			t.Errorf("parsed %+v", m)
		}
	}
}

func TestReadMessage(t *testing.T) {
	big := msg(0, bsonx.NewDoc("insert", "c", "pad", string(make([]byte, 3<<20))))
	small := msg(0, ping)
	r := io.MultiReader(bytes.NewReader(small), bytes.NewReader(big), bytes.NewReader(small[:20]))
	var buf []byte
	var err error
	for _, want := range [][]byte{small, big} {
		if buf, err = ReadMessage(r, buf); err != nil || !bytes.Equal(buf, want) {
			t.Fatalf("%d bytes of %d: %v", len(buf), len(want), err)
		}
	}
	if _, err = ReadMessage(r, buf); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("in the middle of a message: %v", err)
	}
	if _, err = ReadMessage(r, buf); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// FuzzParse checks that parsing never panics and returns valid BSON. A message built from the
// result must parse to the same result.
func FuzzParse(f *testing.F) {
	f.Add(msg(0, ping))
	f.Add(msg(FlagChecksumPresent, ping, []bsonx.Doc{ping, bsonx.Empty}))
	for c := range codecs {
		b, err := Compress(nil, msg(0, ping, []bsonx.Doc{ping}), Compressor(c))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) >= 4 {
			in = bytes.Clone(in)
			binary.LittleEndian.PutUint32(in, uint32(len(in)))
		}
		var m, again Message
		if Parse(&m, in) != nil {
			return
		}
		if err := bsonx.Validate(m.Body, bsonx.Limits{}); err != nil {
			t.Fatalf("invalid body: %v", err)
		}
		if m.Legacy {
			return
		}
		out, start := BeginMsg(nil, m.RequestID, m.ResponseTo, m.Flags)
		out = append(out, m.Body...)
		for i := range m.Sequences {
			var docs []bsonx.Doc
			for _, d := range m.Sequences[i].Docs {
				docs = append(docs, d)
			}
			out = AppendSequence(out, m.Sequences[i].ID, docs...)
		}
		if err := Parse(&again, FinishMsg(out, start)); err != nil {
			t.Fatalf("built again: %v", err)
		}
		if !again.Body.Equal(m.Body) || again.Flags != m.Flags || len(again.Sequences) != len(m.Sequences) {
			t.Fatal("the message changed")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	in := msg(0, bsonx.NewDoc("find", "c", "filter", bsonx.NewDoc("_id", 1), "$db", "test"))
	var m Message
	b.ReportAllocs()
	for b.Loop() {
		if err := Parse(&m, in); err != nil {
			b.Fatal(err)
		}
	}
}
