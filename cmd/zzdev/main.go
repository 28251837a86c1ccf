package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/server"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	eng, err := pebble.Open(os.Args[1], pebble.Options{Logger: log})
	if err != nil {
		panic(err)
	}
	st, err := table.Open(eng, command.Compiler{}, log)
	if err != nil {
		panic(err)
	}
	pl := plan.New(plan.Options{})
	svc, err := command.NewService(command.Deps{Data: command.Data{Store: st, Planner: pl, Writes: write.New(st, pl)}, Logger: log})
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Args[2])
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	srv := server.New(server.Options{Service: svc, Logger: log})
	panic(srv.Serve(context.Background(), l))
}
