// Package agent spreads a load over load generators on several machines. A monitor adds up their
// measurements.
//
// Serve runs an agent, which executes the jobs of a monitor that knows its token. A Fleet is the
// monitor's side; it implements engine.Driver. The monitor handles the databases, Setup and Check;
// agents only run users.
//
// The protocol is HTTP/1.1 with JSON, and "Authorization: Bearer <token>" in each request:
//
//	GET  /v1/about              describes the agent: protocol, format of results, build, scenarios
//	POST /v1/job                starts a job, one at a time (else 409); the reply is a stream of
//	                            messages, one on each line, until the job ends
//	POST /v1/job/{id}/start     all agents are ready: start the users
//	POST /v1/job/{id}/leave     the visitors of all agents have left: end the residents
//	POST /v1/job/{id}/stop      cut the users, and send the measurements
//
// A job ends with the connection of its stream, so no load continues after its monitor has died.
// The start is the moment at which the start request arrives, because the clocks of machines
// differ.
//
// Each message of the stream, about one a second, holds all measurements so far. So only the last
// second of an agent that dies is unknown. The work of its users in that second can still be in the
// database; a result with a lost agent says so.
//
// There is no encryption. The token, and the password in the URI of the target, can be read on the
// way. So agents listen on loopback by default. Use an SSH tunnel (ssh -L 27900:127.0.0.1:27900
// machine) on networks that others use, too.
package agent
