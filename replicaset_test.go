package sheaf_test

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

// listenOn serves db on an address. It skips the test if the machine does not have the address.
func listenOn(t *testing.T, db *sheaf.DB, network, address string) net.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	go func() { _ = db.Serve(context.Background(), l) }()
	return l.Addr()
}

// writeThrough connects with the options like any program, and inserts a document with retryable
// writes.
func writeThrough(t *testing.T, opts *options.ClientOptions) error {
	t.Helper()
	if opts.ServerMonitoringMode == nil {
		opts.SetServerMonitoringMode(options.ServerMonitoringModePoll) // so that Disconnect does not wait
	}
	client, err := mongo.Connect(opts.SetServerSelectionTimeout(5 * time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	_, err = client.Database("d").Collection("c").InsertOne(t.Context(), bson.D{{"from", t.Name()}})
	return err
}

// TestConnectionStrings connects by every kind of address. It connects as to a replica set, and
// directly to its member.
func TestConnectionStrings(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]func(t *testing.T, db *sheaf.DB) []string{
		"IPv4": func(t *testing.T, db *sheaf.DB) []string {
			a := listenOn(t, db, "tcp", "127.0.0.1:0").String()
			return []string{
				a, strings.Replace(a, "127.0.0.1", "localhost", 1),
				strings.Replace(a, "127.0.0.1", "LOCALHOST", 1),
			}
		},
		"IPv6": func(t *testing.T, db *sheaf.DB) []string {
			return []string{listenOn(t, db, "tcp", "[::1]:0").String()}
		},
		"all addresses": func(t *testing.T, db *sheaf.DB) []string {
			_, port, _ := net.SplitHostPort(listenOn(t, db, "tcp", ":0").String())
			return []string{"127.0.0.1:" + port, "localhost:" + port, "127.0.0.2:" + port}
		},
		"socket": func(t *testing.T, db *sheaf.DB) []string {
			return []string{url.PathEscape(listenOn(t, db, "unix", filepath.Join(t.TempDir(), "s.sock")).String())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mustOpen(t, sheaf.Memory, nil)
			for _, host := range listen(t, db) {
				for _, query := range []string{
					"", "?directConnection=true", "?replicaSet=rs0", "?replicaSet=rs0&directConnection=true",
					"?directConnection=false&retryWrites=true",
					"?w=majority&readConcernLevel=majority&readPreference=secondaryPreferred", "?serverMonitoringMode=stream",
				} {
					uri := "mongodb://" + host + "/" + query
					if err := writeThrough(t, options.Client().ApplyURI(uri)); err != nil {
						t.Errorf("%s: %v", uri, err)
					}
				}
			}
		})
	}
}

// TestMemoryConnectionStrings connects over the transport in memory, with each of the settings that
// programs may use.
func TestMemoryConnectionStrings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*options.ClientOptions){
		"direct":     func(*options.ClientOptions) {},
		"not direct": func(o *options.ClientOptions) { o.SetDirect(false) },
		"set":        func(o *options.ClientOptions) { o.SetDirect(false).SetReplicaSet("mine") },
		"streaming": func(o *options.ClientOptions) {
			o.SetDirect(false).SetServerMonitoringMode(options.ServerMonitoringModeStream)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := mustOpen(t, sheaf.Memory, &sheaf.Options{ReplicaSet: "mine"}).ClientOptions()
			change(opts)
			if err := writeThrough(t, opts); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForwardedPort connects through a port that is forwarded to the server. A client that
// discovers the members of the set needs the address that it can reach.
func TestForwardedPort(t *testing.T) {
	t.Parallel()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{Advertise: front.Addr().String()})
	back := listenOn(t, db, "unix", filepath.Join(t.TempDir(), "back.sock"))
	tcp := listenOn(t, db, "tcp", "127.0.0.1:0")
	go forward(front, tcp)
	for _, uri := range []string{
		"mongodb://" + front.Addr().String(), "mongodb://" + front.Addr().String() + "/?directConnection=true",
		"mongodb://" + url.PathEscape(back.String()), "mongodb://" + tcp.String(),
	} {
		if err := writeThrough(t, options.Client().ApplyURI(uri)); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	var hello struct{ Me string }
	if err := db.Client().Database("admin").RunCommand(t.Context(), bson.D{{"hello", 1}}).Decode(&hello); err != nil {
		t.Fatal(err)
	}
	if hello.Me != "sheaf.memory:27017" {
		t.Errorf("the embedded client is told %s", hello.Me)
	}
}

// forward copies the bytes of connections to another address.
func forward(front net.Listener, to net.Addr) {
	for {
		in, err := front.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial(to.Network(), to.String())
		if err != nil {
			_ = in.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				defer pair[1].Close()
				_, _ = pair[0].(*net.TCPConn).WriteTo(pair[1])
			}()
		}
	}
}

// TestStandalone: a standalone server does not belong to a replica set. A driver that asks for a
// set gets an error.
func TestStandalone(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{Standalone: true})
	address := listenOn(t, db, "tcp", "127.0.0.1:0").String()
	if err := writeThrough(t, options.Client().ApplyURI("mongodb://"+address)); err != nil {
		t.Error(err)
	}
	reply, err := db.Client().Database("admin").RunCommand(t.Context(), bson.D{{"hello", 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"setName", "hosts", "lastWrite", "$clusterTime", "operationTime"} {
		if _, err := reply.LookupErr(field); err == nil {
			t.Errorf("a standalone server tells its %s: %s", field, reply)
		}
	}
}
