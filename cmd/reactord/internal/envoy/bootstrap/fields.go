package bootstrap

import "encoding/json"

// The following are the messages of Envoy's API in its version 3 with the fields that are read.

type bootstrapFields struct {
	Node             nodeFields    `json:"node"`
	Admin            *adminFields  `json:"admin"`
	DynamicResources dynamicFields `json:"dynamic_resources"`
	StaticResources  staticFields  `json:"static_resources"`
}

type nodeFields struct {
	ID       string         `json:"id"`
	Cluster  string         `json:"cluster"`
	Locality localityFields `json:"locality"`
	Metadata map[string]any `json:"metadata"`
}

type localityFields struct {
	Region  string `json:"region"`
	Zone    string `json:"zone"`
	SubZone string `json:"sub_zone"`
}

type adminFields struct {
	Address addressFields `json:"address"`
}

type addressFields struct {
	SocketAddress *socketFields `json:"socket_address"`
	Pipe          *pipeFields   `json:"pipe"`
}

type socketFields struct {
	Protocol  string `json:"protocol"`
	Address   string `json:"address"`
	PortValue number `json:"port_value"`
	NamedPort string `json:"named_port"`
}

type pipeFields struct {
	Path string `json:"path"`
}

type dynamicFields struct {
	ADS *apiFields    `json:"ads_config"`
	LDS *sourceFields `json:"lds_config"`
	CDS *sourceFields `json:"cds_config"`
}

// sourceFields is a ConfigSource.
type sourceFields struct {
	ADS                 json.RawMessage `json:"ads"`
	API                 *apiFields      `json:"api_config_source"`
	Path                string          `json:"path"`
	PathSource          *pathFields     `json:"path_config_source"`
	InitialFetchTimeout *duration       `json:"initial_fetch_timeout"`
}

type pathFields struct {
	Path string `json:"path"`
}

// apiFields is an ApiConfigSource.
type apiFields struct {
	Type     any                 `json:"api_type"`
	Version  any                 `json:"transport_api_version"`
	Services many[serviceFields] `json:"grpc_services"`
}

// serviceFields is a GrpcService.
type serviceFields struct {
	Envoy *struct {
		Cluster   string `json:"cluster_name"`
		Authority string `json:"authority"`
	} `json:"envoy_grpc"`
	Google          json.RawMessage `json:"google_grpc"`
	InitialMetadata []struct {
		Key      string `json:"key"`
		Value    string `json:"value"`
		RawValue string `json:"raw_value"`
	} `json:"initial_metadata"`
}

type staticFields struct {
	Clusters  []clusterFields  `json:"clusters"`
	Listeners []listenerFields `json:"listeners"`
	Secrets   []secretFields   `json:"secrets"`
}

type clusterFields struct {
	Name        string `json:"name"`
	Type        any    `json:"type"`
	ClusterType *struct {
		Name string `json:"name"`
	} `json:"cluster_type"`
	ConnectTimeout  *duration                  `json:"connect_timeout"`
	Assignment      *assignmentFields          `json:"load_assignment"`
	TransportSocket *socketConfig              `json:"transport_socket"`
	Options         map[string]json.RawMessage `json:"typed_extension_protocol_options"`
	HTTP2           *http2Fields               `json:"http2_protocol_options"`
}

type socketConfig struct {
	Name  string `json:"name"`
	Typed typed  `json:"typed_config"`
}

type assignmentFields struct {
	Endpoints []endpointsFields `json:"endpoints"`
}

type endpointsFields struct {
	Priority  number `json:"priority"`
	Endpoints []struct {
		Endpoint *struct {
			Address addressFields `json:"address"`
		} `json:"endpoint"`
	} `json:"lb_endpoints"`
}

// httpFields is an HttpProtocolOptions.
type httpFields struct {
	Explicit *struct {
		HTTP2 *http2Fields    `json:"http2_protocol_options"`
		HTTP1 json.RawMessage `json:"http_protocol_options"`
	} `json:"explicit_http_config"`
	Filters []struct {
		Name  string `json:"name"`
		Typed typed  `json:"typed_config"`
	} `json:"http_filters"`
}

type http2Fields struct {
	Keepalive *struct {
		Interval *duration `json:"interval"`
		Timeout  *duration `json:"timeout"`
	} `json:"connection_keepalive"`
}

// injectorFields is a CredentialInjector.
type injectorFields struct {
	Credential struct {
		Typed typed `json:"typed_config"`
	} `json:"credential"`
}

// genericFields is a Generic, the credential of an injector.
type genericFields struct {
	Credential sdsFields `json:"credential"`
	Header     string    `json:"header"`
	Prefix     string    `json:"header_value_prefix"`
}

// sdsFields is an SdsSecretConfig.
type sdsFields struct {
	Name   string        `json:"name"`
	Source *sourceFields `json:"sds_config"`
}

// tlsFields is an UpstreamTlsContext.
type tlsFields struct {
	SNI    string       `json:"sni"`
	Common commonFields `json:"common_tls_context"`
}

// commonFields is a CommonTlsContext.
type commonFields struct {
	Params struct {
		Min string `json:"tls_minimum_protocol_version"`
		Max string `json:"tls_maximum_protocol_version"`
	} `json:"tls_params"`
	Certificates   []certificateFields `json:"tls_certificates"`
	CertificateSDS []sdsFields         `json:"tls_certificate_sds_secret_configs"`
	Validation     *validationFields   `json:"validation_context"`
	ValidationSDS  *sdsFields          `json:"validation_context_sds_secret_config"`
	Combined       *struct {
		Default *validationFields `json:"default_validation_context"`
		SDS     *sdsFields        `json:"validation_context_sds_secret_config"`
	} `json:"combined_validation_context"`
	ALPN      []string        `json:"alpn_protocols"`
	Provider  json.RawMessage `json:"tls_certificate_provider_instance"`
	Provider2 json.RawMessage `json:"custom_validator_config"`
}

type certificateFields struct {
	Chain    sourceData      `json:"certificate_chain"`
	Key      sourceData      `json:"private_key"`
	Provider json.RawMessage `json:"private_key_provider"`
	Password json.RawMessage `json:"password"`
}

// sourceData is a DataSource.
type sourceData struct {
	Filename     string `json:"filename"`
	InlineString string `json:"inline_string"`
	InlineBytes  []byte `json:"inline_bytes"`
	Environment  string `json:"environment_variable"`
}

// validationFields is a CertificateValidationContext.
type validationFields struct {
	TrustedCA    *sourceData     `json:"trusted_ca"`
	System       json.RawMessage `json:"system_root_certs"`
	Names        []sanFields     `json:"match_typed_subject_alt_names"`
	AnyNames     []matcherFields `json:"match_subject_alt_names"`
	Trust        any             `json:"trust_chain_verification"`
	SPKI         json.RawMessage `json:"verify_certificate_spki"`
	Hash         json.RawMessage `json:"verify_certificate_hash"`
	CRL          json.RawMessage `json:"crl"`
	Provider     json.RawMessage `json:"ca_certificate_provider_instance"`
	Custom       json.RawMessage `json:"custom_validator_config"`
	AllowExpired bool            `json:"allow_expired_certificate"`
}

type sanFields struct {
	Type    any           `json:"san_type"`
	Matcher matcherFields `json:"matcher"`
}

// matcherFields is a StringMatcher.
type matcherFields struct {
	Exact      *string `json:"exact"`
	Prefix     *string `json:"prefix"`
	Suffix     *string `json:"suffix"`
	Contains   *string `json:"contains"`
	IgnoreCase bool    `json:"ignore_case"`
	Regex      *struct {
		Regex string `json:"regex"`
	} `json:"safe_regex"`
}

type secretFields struct {
	Name        string             `json:"name"`
	Certificate *certificateFields `json:"tls_certificate"`
	Validation  *validationFields  `json:"validation_context"`
	Generic     *struct {
		Secret sourceData `json:"secret"`
	} `json:"generic_secret"`
}

type listenerFields struct {
	Name    string        `json:"name"`
	Address addressFields `json:"address"`
	Chains  []struct {
		Filters []struct {
			Typed typed `json:"typed_config"`
		} `json:"filters"`
	} `json:"filter_chains"`
}

// managerFields is an HttpConnectionManager.
type managerFields struct {
	Routes struct {
		Hosts []struct {
			Routes []struct {
				Match struct {
					Path   string `json:"path"`
					Prefix string `json:"prefix"`
				} `json:"match"`
				Route *struct {
					Rewrite string `json:"prefix_rewrite"`
				} `json:"route"`
			} `json:"routes"`
		} `json:"virtual_hosts"`
	} `json:"route_config"`
	Filters []struct {
		Typed typed `json:"typed_config"`
	} `json:"http_filters"`
}
