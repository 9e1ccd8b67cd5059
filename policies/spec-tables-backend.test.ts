/** The specification's tables of backends' connections, row by row. */
import { BACKEND, letters, NAME_LONG, NO_DURATION, type Table, times, walk } from '#engine/testing/spec-table.ts'

const tls = (fields: object) => ({ tls: fields })
const tcp = (fields: object) => ({ tcp: fields })
const sans = (count: number) => times(count, (i) => `a${i}.test`)
const SIXTEEN = 'must have 1 to 16 entries'
const NOT_HERE = 'is not in this version of weir'

const ROWS: Table = {
  'BackendTLS: everything is optional, and the names of files are accepted': [
    [tls({}), { backendTLS: {} }, tls({ insecure: false, insecureHost: false })],
    [
      [tls({ mtlsCertificateRef: [] }), 'tls.mtlsCertificateRef: must have 1 to 1 entries'],
      [
        tls({ mtlsCertificateRef: [{ name: 's' }] }),
        "tls.mtlsCertificateRef[0].name: there is no secret 's' in secrets"
      ],
      [tls({ caCertificateRefs: times(2, () => ({ name: 's' })) }), 'tls.caCertificateRefs: must have 1 to 1 entries'],
      [tls({ spiffe: {} }), `tls.spiffe: TLS setting 'spiffe' ${NOT_HERE}`],
      [tls({ keyExchangeGroups: [] }), `tls.keyExchangeGroups: TLS setting 'keyExchangeGroups' ${NOT_HERE}`],
      [tls({ cert: 'a' }), 'tls.cert: needs key beside it'],
      [tls({ key: 'a' }), 'tls.key: needs cert beside it']
    ]
  ],
  'BackendTLS: at most one of verifySubjectAltNames, insecureSkipVerify': [
    [tls({ verifySubjectAltNames: ['a'] }), tls({ insecureSkipVerify: 'All' })],
    [
      [
        tls({ verifySubjectAltNames: ['a'], insecureSkipVerify: 'Hostname' }),
        'tls.verifySubjectAltNames: is never looked at with insecureSkipVerify: keep one of them'
      ],
      [tls({ insecure: true, insecureHost: true }), 'tls.insecureHost: says again, or otherwise, what insecure says'],
      [tls({ insecure: true, insecureSkipVerify: 'All' }), 'tls.insecureSkipVerify: says again, or otherwise'],
      [tls({ insecure: true, root: 'a' }), 'tls.root: is never looked at with insecure: keep one of them']
    ]
  ],
  'BackendTLS.insecureSkipVerify: enum All, Hostname': [
    [tls({ insecureSkipVerify: 'All' }), tls({ insecureSkipVerify: 'Hostname' })],
    [[tls({ insecureSkipVerify: 'None' }), 'tls.insecureSkipVerify: must be one of']]
  ],
  'BackendTLS.sni: SNI': [
    [tls({ sni: 'a.test' }), tls({ hostname: 'a.test' })],
    [
      [tls({ sni: '127.0.0.1' }), 'tls.sni: must be a name: SNI has no addresses'],
      [tls({ sni: '*.a' }), 'tls.sni: must be a host name'],
      [tls({ sni: 'a', hostname: 'b' }), 'tls.sni: says again what hostname says: keep one of them']
    ]
  ],
  'BackendTLS.verifySubjectAltNames: 1..16 of ShortString': [
    [tls({ verifySubjectAltNames: sans(16) }), tls({ subjectAltNames: ['::1', 'spiffe://a/b', letters(256)] })],
    [
      [tls({ verifySubjectAltNames: [] }), `tls.verifySubjectAltNames: ${SIXTEEN}`],
      [tls({ verifySubjectAltNames: sans(17) }), `tls.verifySubjectAltNames: ${SIXTEEN}`],
      [tls({ subjectAltNames: [letters(257)] }), `tls.subjectAltNames[0]: ${NAME_LONG}`],
      [tls({ subjectAltNames: ['*.a.test'] }), 'tls.subjectAltNames[0]: must be a DNS name, an address or a URI']
    ]
  ],
  'BackendTLS.alpnProtocols: 1..16 of TinyString': [
    [tls({ alpnProtocols: times(16, (i) => `p${i}`) }), tls({ alpn: ['h2', 'http/1.1'] })],
    [
      [tls({ alpnProtocols: [] }), `tls.alpnProtocols: ${SIXTEEN}`],
      [tls({ alpnProtocols: times(17, (i) => `p${i}`) }), `tls.alpnProtocols: ${SIXTEEN}`],
      [tls({ alpn: [letters(65)] }), 'tls.alpn[0]: must have at most 64 characters'],
      [tls({ alpn: ['a', ''] }), 'tls.alpn[1]: must not be empty']
    ]
  ],
  'BackendHTTP: version enum HTTP1, HTTP2; requestTimeout Duration': [
    [{ http: { version: 'HTTP1' } }, { http: { version: 'HTTP2' } }, { http: { requestTimeout: '1ms' } }],
    [
      [{ http: {} }, 'http: must have at least one of version, requestTimeout'],
      [{ http: { version: 'HTTP3' } }, 'http.version: must be one of HTTP1, HTTP2'],
      [{ http: { version: 2 } }, 'http.version: must be one of HTTP1, HTTP2'],
      [{ http: { requestTimeout: 10 } }, `http.requestTimeout: ${NO_DURATION}`]
    ]
  ],
  'BackendTCP: keepalive, connectTimeout': [
    [tcp({ connectTimeout: '1ms' }), tcp({ keepalive: { time: '0s' } }), tcp({ keepalives: { time: '1s' } })],
    [
      [tcp({}), 'tcp: must have at least one of connectTimeout, keepalives, keepalive'],
      [tcp({ connectTimeout: '0s' }), 'tcp.connectTimeout: must be longer than 0'],
      [tcp({ connectTimeout: 5 }), `tcp.connectTimeout: ${NO_DURATION}`],
      [
        tcp({ keepalive: { time: '1s' }, keepalives: { time: '1s' } }),
        'tcp.keepalive: says again what keepalives says'
      ],
      [tcp({ keepalive: { time: '500ms' } }), 'tcp.keepalive.time: must be 0s or at least 1s'],
      [tcp({ keepalives: { time: '1s', retries: 3 } }), `tcp.keepalives.retries: TCP setting 'retries' ${NOT_HERE}`],
      [
        tcp({ keepalives: { time: '1s', interval: '1s' } }),
        `tcp.keepalives.interval: TCP setting 'interval' ${NOT_HERE}`
      ]
    ]
  ]
}

walk(ROWS, BACKEND)

/** docs/specification.md#backends. */
const STATIC: Table = {
  'StaticBackend: host ShortString required, port 1..65535 required': [
    [
      { host: 'a', port: 1 },
      { host: 'a', port: 65_535 }
    ],
    [
      [{ port: 1 }, 'host: is required'],
      [{ host: '', port: 1 }, 'host: must'],
      [{ host: letters(257), port: 1 }, `host: must`],
      [{ host: 'a' }, 'port: is required'],
      [{ host: 'a', port: 0 }, 'port: must be a whole number from 1 to 65535'],
      [{ host: 'a', port: 65_536 }, 'port: must be a whole number from 1 to 65535']
    ]
  ]
}

walk(STATIC, {
  path: 'backends[0].static.',
  file: (fields) => ({ backends: [{ name: 'b', static: fields }] })
})
