package crashtest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/server"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/storage/pebble/crashdisk"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// machine is a server in this process whose disk can lose all data that were not synced.
type machine struct {
	disk    *crashdisk.Disk
	engine  storage.Engine
	store   *table.Store
	service *command.Service
	server  *server.Server
	memory  *server.MemoryListener
	client  *mongo.Client
}

// boot starts a server on a disk.
func boot(t *testing.T, disk *crashdisk.Disk) *machine {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	engine, err := pebble.Open("store",
		pebble.Options{FS: disk, MemoryBudget: 8 << 20, Keep: keyspace.IsRecord, Logger: logger})
	if err != nil {
		t.Fatalf("opening the store behind a loss of power: %v", err)
	}
	m := &machine{disk: disk, engine: engine, memory: server.NewMemoryListener("machine:27017")}
	m.store, err = schema.OpenLogged(engine, ddl.Compiler{Warn: func(error) {}}, logger, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	planner := plan.New(plan.Options{})
	m.service, err = commands.NewService(command.Deps{
		Data: command.Data{Store: m.store, Planner: planner, Writes: write.New(m.store, planner)}, Logger: logger,
		ReplicaSet: command.DefaultReplicaSet, SlowMillis: -1, ImpliedOne: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.server = server.New(server.Options{Service: m.service, Logger: logger})
	go func() { _ = m.server.Serve(context.Background(), m.memory) }()
	m.client, err = mongo.Connect(options.Client().
		ApplyURI("mongodb://machine:27017/?directConnection=true").SetDialer(m.memory).
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.shutDown() })
	return m
}

func (m *machine) dial() (net.Conn, error) { return m.memory.DialContext(context.Background(), "", "") }

// shutDown ends the server. A second call does nothing.
func (m *machine) shutDown() error {
	if m.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := errors.Join(m.client.Disconnect(ctx), m.server.Shutdown(ctx))
	m.server = nil
	m.service.Close()
	m.store.Close()
	return errors.Join(err, m.engine.Close())
}
