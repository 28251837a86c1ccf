package integration

import (
	"net"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/dns"
)

// init answers the driver's look-ups from tables. The tests expect records that MongoDB, Inc. publishes, and a machine need not
// reach a name server.
func init() {
	dns.DefaultResolver = &dns.Resolver{LookupSRV: lookupSRV, LookupTXT: lookupTXT}
}

const zone = ".build.10gen.cc"

// services are the SRV records: targets by the name that is looked up.
var services = map[string]string{
	"_mongodb._tcp.test1.test" + zone:     "localhost.test.build.10gen.cc:27017 localhost.test.build.10gen.cc:27018",
	"_mongodb._tcp.test2.test" + zone:     "localhost.test.build.10gen.cc:27018 localhost.test.build.10gen.cc:27019",
	"_mongodb._tcp.test3.test" + zone:     "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test5.test" + zone:     "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test6.test" + zone:     "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test7.test" + zone:     "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test8.test" + zone:     "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test10.test" + zone:    "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test11.test" + zone:    "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test12.test" + zone:    "localhost.build.10gen.cc:27017",
	"_mongodb._tcp.test13.test" + zone:    "test.build.10gen.cc:27017",
	"_mongodb._tcp.test14.test" + zone:    "localhost.not-test.build.10gen.cc:27017",
	"_mongodb._tcp.test15.test" + zone:    "localhost.test.not-build.10gen.cc:27017",
	"_mongodb._tcp.test16.test" + zone:    "localhost.test.build.not-10gen.cc:27017",
	"_mongodb._tcp.test17.test" + zone:    "localhost.test.build.10gen.not-cc:27017",
	"_mongodb._tcp.test18.test" + zone:    "localhost.sub.test.build.10gen.cc:27017",
	"_mongodb._tcp.test19.test" + zone:    "localhost.evil.build.10gen.cc:27017 localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test20.test" + zone:    "localhost.test.build.10gen.cc:27017",
	"_mongodb._tcp.test21.test" + zone:    "localhost.test.build.10gen.cc:27017",
	"_customname._tcp.test22.test" + zone: "localhost.test.build.10gen.cc:27017 localhost.test.build.10gen.cc:27018",
	"_mongodb._tcp.test23.test" + zone:    "localhost.test.build.10gen.cc:8000",
	"_mongodb._tcp.test24.test" + zone:    "localhost.test.build.10gen.cc:8000",
}

// texts are the TXT records, one string each: a resolver joins the parts of a record.
var texts = map[string][]string{
	"test5.test" + zone:  {"replicaSet=repl0&authSource=thisDB"},
	"test6.test" + zone:  {"replicaSet=repl0", "authSource=otherDB"},
	"test7.test" + zone:  {"ssl=false"},
	"test8.test" + zone:  {"authSource"},
	"test10.test" + zone: {"socketTimeoutMS=500"},
	"test11.test" + zone: {"replicaSet=repl0"},
	"test20.test" + zone: {"loadBalanced=true"},
	"test21.test" + zone: {"loadBalanced=false"},
	"test24.test" + zone: {"loadBalanced=true"},
}

func lookupSRV(service, proto, name string) (string, []*net.SRV, error) {
	full := strings.ToLower("_" + service + "._" + proto + "." + strings.TrimSuffix(name, "."))
	var out []*net.SRV
	for target := range strings.FieldsSeq(services[full]) {
		host, port, err := net.SplitHostPort(target)
		if err != nil {
			return "", nil, err
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", nil, err
		}
		out = append(out, &net.SRV{Target: host + ".", Port: uint16(n)})
	}
	if len(out) == 0 {
		return "", nil, &net.DNSError{Err: "no such host", Name: full, IsNotFound: true}
	}
	return full, out, nil
}

func lookupTXT(name string) ([]string, error) {
	out, ok := texts[strings.ToLower(strings.TrimSuffix(name, "."))]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return out, nil
}
