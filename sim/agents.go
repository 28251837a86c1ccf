package sim

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim/agent"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func (f *runFlags) fleet() engine.Driver {
	return &agent.Fleet{Addresses: f.agents, Token: f.resolvedToken()}
}

func newAgent(with withSet) *cobra.Command {
	address, token := "", ""
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Generate load for a run on another machine (sim run --agents)",
		Long: "Generate load for a run on another machine. Anyone who knows the token can make this agent run its scenarios against any server that it can reach:\n" +
			"by default it listens on the loopback interface. To cross a network that others use, use an SSH tunnel.",
		Example: "  sheaf sim agent --listen 127.0.0.1:27900\n  sheaf sim run transfer --uri mongodb://db/ --agents a,b --token TOKEN",
		Args:    cobra.NoArgs,
		RunE: with(func(set scenario.Set, cmd *cobra.Command, _ []string) error {
			if token == "" {
				token = (&runFlags{}).resolvedToken()
			}
			return serveAgent(cmd.Context(), cmd, set, address, token)
		}),
	}
	cmd.Flags().StringVar(&address, "listen", "127.0.0.1:27900", "address to listen on")
	cmd.Flags().StringVar(&token, "token", "", "secret that a monitor must know, at least 16 characters (default: $"+tokenVariable+", or a new one, which is printed)")
	return cmd
}

func serveAgent(ctx context.Context, cmd *cobra.Command, set scenario.Set, address, token string) error {
	l, err := listen(ctx, address)
	if err != nil {
		return err
	}
	if token == "" {
		token = agent.NewToken()
	}
	fmt.Fprintf(cmd.OutOrStdout(), "agent on %s\ntoken %s\n", l.Addr(), token)
	return agent.Serve(ctx, l, agent.Config{Token: token, Set: set})
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}
