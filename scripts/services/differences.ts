/** Where Weir is not as Envoy, on purpose: one entry for each reason. */

export interface Listed {
  /** Names of cases. */
  readonly cases: readonly string[]
  /** Places of an observation (compare.ts), with all that is in them. */
  readonly at: readonly string[]
  readonly why: string
  /** It is not there in every run. */
  readonly isRace?: boolean
}

const named = (group: string, ...cases: string[]): string[] => cases.map((name) => `${group}: ${name}`)

/** Of all messages. */
const GENERAL: Listed[] = [
  {
    cases: named('extAuth gRPC, request', 'an authorization'),
    at: ['service.0.http.headers.proxy-authorization', 'backend.0.headers.proxy-authorization'],
    why: 'Proxy-Authorization is for the next proxy, which is the gateway (RFC 9110 section 11.7.2): it goes no further.'
  },
  {
    cases: named('extAuth gRPC, request', 'a host in capitals'),
    at: ['service.0.http.headers.:authority', 'service.0.http.host', 'backend.0.headers.host'],
    why: 'Hosts are compared and passed on in lower case, so that rules, services and backends see one name.'
  },
  {
    cases: named('extAuth gRPC, request', 'trailers of a client that takes none'),
    at: ['backend.0.trailers.x-t'],
    why: 'Trailers pass where TE says so or gRPC is spoken (RFC 9110 section 6.5.1); Envoy passes them once they are enabled.'
  },
  {
    cases: [
      ...named('extAuth gRPC, denied', 'no content type'),
      ...named('extProc, immediate response', 'without a content type')
    ],
    at: ['client.headers.content-type'],
    why: 'A body without a type is text in UTF-8, as the message has it, and is called so.'
  },
  {
    cases: [
      ...named('extAuth gRPC, allowed', 'a backend that breaks off'),
      ...named('extProc, failure refuses', 'a backend that breaks off is none of the service')
    ],
    at: ['client.status'],
    why: 'A backend that answers with nothing is 502 (RFC 9110 section 15.6.3); with Envoy it is 503.'
  }
]

/** Of clients that speak gRPC, and of metadata. */
const FURTHER: Listed[] = [
  {
    cases: [
      ...named(
        'extAuth gRPC, a client of gRPC',
        'is denied with a status of the service alone',
        'is denied with another status of the service'
      ),
      ...named('rateLimit.global, a client of gRPC', 'is over its limit')
    ],
    at: ['client.headers.grpc-message'],
    why: 'A refusal in words of the gateway has them in grpc-message; with Envoy it has none.'
  },
  {
    cases: named('extAuth gRPC, an error', 'without a status'),
    at: ['client.headers.content-type', 'client.body'],
    why: 'An error that has no status is worded by the gateway, as other failures of a service are; Envoy passes its body on.'
  },
  {
    cases: named('extAuth gRPC, metadata for what follows', 'a text of UTF-8'),
    at: ['backend.0.headers.x-seen'],
    why: 'An expression sets the characters of Latin-1 as one octet each, as it reads fields; Envoy writes UTF-8.'
  },
  {
    cases: named('extProc, metadata that the configuration does not name', 'of the request'),
    at: ['backend.0.headers.x-seen'],
    why: 'All namespaces of a service are seen, as extproc; with Envoy those that receiving_namespaces names.'
  }
]

const EXT_AUTH: Listed[] = [
  {
    cases: named('extAuth gRPC, body', 'one byte too long over HTTP/2'),
    at: ['service', 'backend', 'client.status'],
    why: 'Envoy takes a body that comes in one frame with its end, whatever its length, and tells its first bytes; Weir refuses it with 413, as over HTTP/1.'
  },
  {
    cases: named('extAuth gRPC, body', 'octets that are no UTF-8'),
    at: ['service.0.http.body', 'service.0.http.rawBody'],
    why: 'A body that is no text is told as raw_body; Envoy tells "!" for each octet, from which nothing can be judged.'
  },
  {
    cases: named(
      'extAuth gRPC, append action',
      'ADD_IF_ABSENT, field is there',
      'ADD_IF_ABSENT, field is there twice',
      'ADD_IF_ABSENT, twice in the answer',
      'OVERWRITE_IF_EXISTS, field is not there',
      'OVERWRITE_IF_EXISTS, twice in the answer'
    ),
    at: ['backend.0.headers'],
    why: 'Of fields of requests Envoy reads only `append`, which is deprecated; Weir does what append_action says.'
  },
  {
    cases: named('extAuth gRPC, append action', 'append true goes before the action'),
    at: ['backend.0.headers.x-a'],
    why: 'A field is added as a line of its own; Envoy adds it to the line that is there. They mean the same (RFC 9110 section 5.3).'
  },
  {
    cases: named('extAuth gRPC, allowed', 'a value with a line break'),
    at: ['backend', 'client'],
    why: 'What no field can have is left out, and the field of the client with it; Envoy fails towards the backend.'
  },
  {
    cases: named('extAuth gRPC, allowed', 'a new :path', 'a new host'),
    at: ['backend.0.line', 'backend.0.headers.host'],
    why: 'Path and host decide what rules were asked about and where the request goes: a service cannot change them behind those.'
  },
  {
    cases: named('extAuth gRPC, allowed', 'a new content-length'),
    at: ['backend', 'client'],
    why: 'What frames a message is written by the engine; with Envoy the backend gets a part of the body.'
  },
  {
    cases: named('extAuth gRPC, allowed', 'a parameter that has to be escaped'),
    at: ['backend', 'client'],
    why: 'Parameters are percent-encoded; Envoy writes them as they are, and the backend refuses the request.'
  },
  {
    cases: [...named('extAuth gRPC, denied', 'status 200'), ...named('extAuth HTTP, answer', '201', '204')],
    at: ['client.status'],
    why: 'A denial must not look like success to the client: it is 403.'
  },
  {
    cases: named('extAuth HTTP, fields', 'two of them, one twice'),
    at: ['service.0.headers.x-in'],
    why: 'Several lines are one with ", " in between; Envoy writes ",". They mean the same.'
  },
  {
    cases: named('extAuth HTTP, fields', 'twice in the answer'),
    at: ['backend.0.headers.x-roles'],
    why: 'All values that the service says are passed on; Envoy keeps the last.'
  },
  {
    cases: named('extAuth HTTP, fields', 'of the client that the service does not say'),
    at: ['backend.0.headers.x-user'],
    why: 'A field that backends take as the word of the service cannot come from the client.'
  }
]

const RATE_LIMIT: Listed[] = [
  {
    cases: named('rateLimit.global, descriptors', 'a field twice'),
    at: ['service.0.descriptors.0.entries.0.value'],
    why: 'A field that came twice is a list in CEL, told as JSON: a client cannot choose its bucket by a second line. Envoy tells the first.'
  },
  {
    cases: named('rateLimit.global, descriptors', 'a field of Latin-1'),
    at: ['service.0.descriptors.0.entries.0.value'],
    why: 'Octets that are no UTF-8 are a character each. Envoy tells them as they are, which no protobuf text can have.'
  },
  {
    cases: [
      ...named('rateLimit.global, answer', 'OK with a limit'),
      ...named('rateLimit.global, fields of limits', 'of an answer', 'of a refusal')
    ],
    at: [
      ...[
        'x-ratelimit-limit',
        'x-ratelimit-remaining',
        'x-ratelimit-reset',
        'ratelimit',
        'ratelimit-policy',
        'retry-after'
      ].map((name) => `client.headers.${name}`),
      ...['client.headers.content-type', 'client.body']
    ],
    why: 'Clients are told of limits as by local ones: x-ratelimit-* with one number, RateLimit and RateLimit-Policy, Retry-After and a text. Envoy tells nothing, or x-ratelimit-* of draft 03 where that is turned on.'
  },
  {
    cases: named('rateLimit.global, answer', 'a code that says nothing'),
    at: ['backend', 'client.status'],
    why: 'UNKNOWN is no verdict, and failureMode decides; Envoy lets the request pass.'
  },
  {
    cases: named('rateLimit.global, answer', 'a field that is none'),
    at: ['client'],
    why: 'What no field can have is left out; Envoy cuts the connection of the client.'
  },
  {
    cases: named('rateLimit.global, answer', 'a new host'),
    at: ['backend.0.headers.host'],
    why: 'Host is not for services to set; Envoy appends to it.'
  }
]

const EXT_PROC: Listed[] = [
  {
    cases: named(
      'extProc, changes of heads',
      'ADD_IF_ABSENT on a request',
      'ADD_IF_ABSENT on a response',
      'OVERWRITE_IF_EXISTS on a request',
      'OVERWRITE_IF_EXISTS on a response'
    ),
    at: ['backend.0.headers', 'client.headers'],
    why: 'Envoy reads only `append`, which is deprecated; Weir does what append_action says.'
  },
  {
    cases: named('extProc, changes of heads', 'a value as text'),
    at: ['backend.0.headers.x-n'],
    why: 'A value is read from `value`, too; Envoy reads raw_value alone and sets the field to nothing.'
  },
  {
    cases: named('extProc, changes of heads', 'a new content-length'),
    at: ['service.1.responseHeaders', 'backend', 'client'],
    why: 'What frames a message is written by the engine; with Envoy the backend gets a part of the body.'
  },
  {
    cases: named('extProc, body without heads', 'a change of the head'),
    at: ['backend.0.headers.x-n'],
    why: 'The head waits for the body that is kept whole, so it can still be changed; Envoy ignores the change.'
  },
  {
    cases: named(
      'extProc, changes of bodies',
      'a longer request, with the length as it was',
      'a longer response, with the length as it was'
    ),
    at: ['service', 'backend', 'client'],
    why: 'Content-Length follows the body; Envoy fails unless the service has removed or corrected it.'
  },
  {
    cases: named('extProc, long bodies', 'too long', 'chunks that are too long'),
    at: ['service.1'],
    why: 'A request that is refused while its body is collected has ended: the service is not told of the refusal.'
  },
  {
    cases: named('extProc, failure refuses', 'a backend that breaks off is none of the service'),
    at: ['service.1.responseHeaders.headers'],
    why: "The service is told the gateway's own answer, which each of the two words in its own way."
  },
  {
    cases: named('extProc, streamed bodies', 'a change of the head with a body'),
    at: ['backend.0.headers.x-n'],
    why: 'With the answer to a piece the head may be on its way: a change of it is for bodies that are kept whole (external_processor.proto). With Envoy it is a race.'
  },
  {
    cases: named('extProc, streamed bodies', 'a piece of a stream both ways'),
    at: ['service', 'backend', 'client.status'],
    why: 'A service that means to change a body and answers in the terms of another mode fails; with Envoy the body passes as it was.'
  },
  {
    cases: named('extProc, long bodies of responses', 'too long'),
    at: ['client.status'],
    why: 'An answer that is too long is 502, the fault of what is behind the gateway; with Envoy it is 500.'
  }
]

const RACES: Listed[] = [
  {
    cases: named('extProc, streamed reply', 'to HEAD'),
    at: ['client.isWhole'],
    why: 'An answer to HEAD has no body (RFC 9110 section 9.3.2); Envoy sends that of the service, which a client that is still there takes for a fault.',
    isRace: true
  }
]

/** Of clients over TLS. */
const OVER_TLS: Listed[] = [
  {
    cases: named('extAuth gRPC, certificates that are optional', 'a client without one'),
    at: ['service', 'backend', 'client'],
    why: 'A listener with `root` admits no client without a certificate: it has no setting that makes one optional.'
  },
  {
    cases: named('extAuth gRPC, certificate as a whole', 'of a client'),
    at: ['service.0.source.certificate', 'service.0.metadataContext'],
    why: 'The certificate is told as metadata, where `grpc.requestMetadata` has `source.certificate`; Envoy has a setting for the field.'
  },
  {
    cases: named('extAuth gRPC, session of TLS', 'with a server name in capitals'),
    at: ['service.0.tlsSession.sni'],
    why: 'Server names are compared and told in lower case, as hosts are.'
  },
  {
    cases: named('extAuth gRPC, session that is not asked for', 'with a server name'),
    at: ['service.0.tlsSession'],
    why: 'The server name is told always, as by agentgateway; Envoy tells it with include_tls_session.'
  },
  {
    cases: named('extProc, version of TLS', 'of a request'),
    at: ['service.0.attributes'],
    why: 'Attributes are expressions, which have no variable for the version of TLS.'
  }
]

export const LISTED: readonly Listed[] = [
  ...GENERAL,
  ...FURTHER,
  ...EXT_AUTH,
  ...RATE_LIMIT,
  ...EXT_PROC,
  ...RACES,
  ...OVER_TLS
]
