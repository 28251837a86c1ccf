package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// envPrefix begins the names of the environment variables: --max-connections is SHEAF_MAX_CONNECTIONS.
const envPrefix = "SHEAF_"

// applyConfig gives every flag that was not set on the command line its value from the environment or, after that, from
// the YAML file that --config names. The file's keys are the flags' names.
func applyConfig(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if err := setFromEnvironment(flags); err != nil {
		return err
	}
	path, err := flags.GetString("config")
	if err != nil || path == "" {
		return err
	}
	return setFromFile(flags, path)
}

func setFromEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if f.Changed || !ok || f.Name == "help" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s=%q: %w", name, value, err))
		}
	})
	return errors.Join(errs...)
}

func setFromFile(flags *pflag.FlagSet, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the configuration file: %w", err)
	}
	settings := map[string]any{}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&settings); err != nil && len(bytes.TrimSpace(data)) > 0 {
		return fmt.Errorf("configuration file %s is not valid YAML: %w", path, err)
	}
	for name, value := range settings {
		f := flags.Lookup(name)
		if f == nil || name == "config" {
			return fmt.Errorf("configuration file %s: unknown setting %q; the settings are the flags of 'sheaf serve --help'", path, name)
		}
		if f.Changed {
			continue
		}
		if err := flags.Set(name, settingText(value)); err != nil {
			return fmt.Errorf("configuration file %s: %s: %w", path, name, err)
		}
	}
	return nil
}

// settingText turns a YAML value into a flag's text; a list becomes comma-separated.
func settingText(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = fmt.Sprint(e)
	}
	return strings.Join(parts, ",")
}
