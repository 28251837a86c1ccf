package admin

import (
	"bytes"
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/wire"
)

// The wire protocol versions that hello announces.
const (
	minWireVersion = 0
	maxWireVersion = 25 // MongoDB 8.0

)

// helloFields are the arguments of hello. Unknown arguments are ignored, because newer drivers may
// send some.
var helloFields = []command.Field{
	{Name: "forShell"},
	{Name: "hostInfo"},
	{Name: "client", Type: command.Object},
	{Name: "compression", Type: command.Array},
	{Name: "saslSupportedMechs"},
	{Name: "speculativeAuthenticate", Type: command.Object},
	{Name: "topologyVersion", Type: command.Object},
	{Name: "maxAwaitTimeMS", Type: command.SafeInt},
	{Name: "loadBalanced", Type: command.SafeBool},
	{Name: "internalClient"},
}

// HelloCommands returns the definitions of hello and of isMaster, its older name.
func HelloCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "hello", Help: "Describes the server to a driver.", NoAuth: true, Loose: true, NoSlowLog: true,
			Handshake: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: helloFields, Run: func(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
				return runHello(ctx, req, reply, false)
			},
		},
		{
			Name: "isMaster", Aliases: []string{"ismaster"},
			Help: "The older name of hello.", NoAuth: true, Loose: true, Handshake: true,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.No,
			},
			NoSlowLog: true, Fields: helloFields,
			Run: func(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
				return runHello(ctx, req, reply, true)
			},
		},
	}
}

func runHello(ctx context.Context, req *command.Request, reply *bsonx.Builder, legacy bool) error {
	s, conn := req.Service, req.Conn
	if client := req.Doc("client"); client != nil {
		if err := acceptMetadata(conn, client); err != nil {
			return err
		}
		s.Logger.Info("client metadata", "c", "NETWORK", "id", 51800, "ctx",
			command.ConnName(conn.ID), "remote", conn.Remote,
			"client", command.ConnName(conn.ID), "doc", command.FormatDoc(client))
	}
	if err := awaitTopology(ctx, s, req); err != nil {
		return err
	}
	if helloOk := req.Body.Lookup("helloOk"); legacy && helloOk.Truthy() {
		reply.Bool("helloOk", true)
	}
	primaryField := "isWritablePrimary"
	if legacy {
		primaryField = "ismaster"
	}
	version := s.Topology.Version()
	version.Append(reply, "topologyVersion")
	if s.Replicates() {
		appendMember(s, reply, conn, primaryField)
	} else {
		reply.Bool(primaryField, true)
	}
	reply.Int32("maxBsonObjectSize", limits.DocumentBytes)
	reply.Int32("maxMessageSizeBytes", limits.MessageBytes)
	reply.Int32("maxWriteBatchSize", limits.WriteBatch)
	reply.Date("localTime", s.Clock.Now().UnixMilli())
	reply.Int32("logicalSessionTimeoutMinutes", int32(session.Timeout/time.Minute))
	reply.Int32("connectionId", int32(conn.ID))
	reply.Int32("minWireVersion", minWireVersion)
	reply.Int32("maxWireVersion", maxWireVersion)
	reply.Bool("readOnly", false)
	negotiateCompression(conn, req.Get("compression"), reply)
	if req.Has("topologyVersion") {
		req.Exhaust(nextHello(req.Body, version))
	}
	return nil
}

// nextHello returns the request that an exhaust stream runs next: the request body, with the
// topology version of the reply that was just sent.
func nextHello(body bsonx.Doc, version command.TopologyVersion) bsonx.Doc {
	b := bsonx.NewBuilder(make([]byte, 0, len(body)+16))
	b.StartDoc()
	for it := body.Iter(); it.Next(); {
		switch string(it.Key()) {
		case "topologyVersion":
			version.Append(b, "topologyVersion")
		case "client", "compression":
		default:
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

// negotiateCompression replies with the compressors of the client's list that the server also
// supports.
func negotiateCompression(c *command.Conn, v bsonx.Value, reply *bsonx.Builder) {
	if v.IsMissing() {
		return
	}
	reply.StartArrayField("compression")
	for _, e := range v.Doc().Values() {
		if e.Type != bsonx.TypeString {
			continue
		}
		if _, ok := wire.CompressorByName(e.Str()); ok {
			reply.Elem(e)
		}
	}
	reply.End()
}

// acceptMetadata checks and stores the client document. A client may send it once per connection.
func acceptMetadata(c *command.Conn, client bsonx.Doc) error {
	if c.ClientMetadata != nil {
		return mongoerr.New(mongoerr.ClientMetadataCannotBeMutated, "The client metadata document may only be sent in the first hello")
	}
	if len(client) > limits.ClientMetadataBytes {
		return mongoerr.New(mongoerr.ClientMetadataDocumentTooLarge,
			"The client metadata document must be less then or equal to %d bytes", limits.ClientMetadataBytes)
	}
	name, err := parseMetadata(client)
	if err != nil {
		return err
	}
	c.ClientMetadata, c.ClientApp = client.Clone(), name
	c.Op.SetClient(c.ClientApp, c.ClientMetadata)
	return nil
}

// metadataRequired are the fields that a client document must have. The type of a path with one
// part is document, otherwise string.
var metadataRequired = [...]struct {
	path []string
}{
	{[]string{"driver"}},
	{[]string{"driver", "name"}},
	{[]string{"driver", "version"}},
	{[]string{"os"}},
	{[]string{"os", "type"}},
}

func parseMetadata(client bsonx.Doc) (appName string, err error) {
	for _, r := range metadataRequired {
		v := client.LookupPath(r.path...)
		want := bsonx.TypeString
		if len(r.path) == 1 {
			want = bsonx.TypeDocument
		}
		name := string(bytes.Join(toBytes(r.path), []byte(".")))
		if v.IsMissing() {
			return "", mongoerr.New(mongoerr.ClientMetadataMissingField,
				"Missing required field '%s' in the client metadata document", name)
		}
		if v.Type != want {
			return "", mongoerr.New(mongoerr.TypeMismatch, "The '%s' field is required to be a %s in the client metadata document", name, want)
		}
	}
	app := client.LookupPath("application", "name")
	if app.IsMissing() {
		return "", nil
	}
	if app.Type != bsonx.TypeString {
		return "", mongoerr.New(mongoerr.TypeMismatch, "The 'application.name' field must be a string in the client metadata document")
	}
	if len(app.StrBytes()) > limits.AppNameBytes {
		return "", mongoerr.New(mongoerr.ClientMetadataAppNameTooLarge,
			"The 'application.name' field must be less then or equal to %d bytes in the client metadata document", limits.AppNameBytes)
	}
	return app.Str(), nil
}

func toBytes(path []string) [][]byte {
	out := make([][]byte, len(path))
	for i, p := range path {
		out[i] = []byte(p)
	}
	return out
}
