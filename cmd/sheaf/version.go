package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "sheaf %s (MongoDB 8.0 compatible, %s, %s/%s)\n",
				sheaf.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
