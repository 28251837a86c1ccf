package engine

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/sim/result"
)

// environment gathers facts about the target, the server and the machine. It leaves out unknown
// facts.
func environment(ctx context.Context, client *mongo.Client, s Settings) result.Environment {
	e := result.Environment{
		Target: s.Name(), GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), SimulatorBuild: Build(),
	}
	if infos, err := cpu.InfoWithContext(ctx); err == nil && len(infos) > 0 {
		e.CPU = infos[0].ModelName
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		e.MemoryBytes = m.Total
	}
	if platform, _, version, err := host.PlatformInformationWithContext(ctx); err == nil {
		e.OS = strings.TrimSpace(platform + " " + version)
	}
	e.Server, e.ServerVersion, e.Topology = server(ctx, client)
	return e
}

// server returns the name, the version and the topology of the server.
func server(ctx context.Context, client *mongo.Client) (name, version, topology string) {
	var info struct {
		Version string `bson:"version"`
		Sheaf   struct {
			Version string `bson:"version"`
		} `bson:"sheaf"`
	}
	admin := client.Database("admin")
	_ = admin.RunCommand(ctx, bson.D{{"buildInfo", 1}}).Decode(&info)
	name, version = "MongoDB", info.Version
	if info.Sheaf.Version != "" {
		name, version = "Sheaf", info.Sheaf.Version+" (MongoDB "+info.Version+")"
	}
	var hello struct {
		Set string `bson:"setName"`
		Msg string `bson:"msg"`
	}
	_ = admin.RunCommand(ctx, bson.D{{"hello", 1}}).Decode(&hello)
	switch {
	case hello.Msg == "isdbgrid":
		topology = "sharded cluster"
	case hello.Set != "":
		topology = "replica set"
	default:
		topology = "standalone"
	}
	return name, version, topology
}

// Build returns the version of this program.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return info.Main.Version + " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return info.Main.Version
}

// CPUSeconds returns the processor time that this process has used.
func CPUSeconds() float64 {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return 0
	}
	t, err := p.Times()
	if err != nil {
		return 0
	}
	return t.User + t.System
}
