import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { chainFault, nameFault, protocolFault, urisOf } from './tls-verify.ts'

test('a name with a comma in it does not pass for two', () => {
  deepEqual(urisOf('DNS:a.test, URI:spiffe://td/a, IP Address:127.0.0.1, URI:https://b/'), [
    'spiffe://td/a',
    'https://b/'
  ])
  deepEqual(urisOf('URI:"http://x/\\u002c, URI:spiffe://td/a"'), ['http://x/,, URI:spiffe://td/a'])
  deepEqual(urisOf('DNS:"a, URI:spiffe://td/a"'), [])
  // Behind an entry that is not understood there is nothing.
  deepEqual(urisOf('x?y, URI:spiffe://td/a'), [])
  deepEqual(urisOf(''), [])
})

test('without a certificate there is no name', () => {
  deepEqual(nameFault(['a.test'], undefined), { code: 'TLS_NAME', text: 'it has shown no certificate' })
  match(nameFault(['a.test'], Buffer.from('no certificate'))!.text, /no certificate/)
})

test('an unknown error is named, without characters that could break a log line', () => {
  equal(chainFault('SOMETHING_NEW', undefined).text, 'its certificate is not valid (SOMETHING_NEW)')
  equal(protocolFault(undefined, 'odd\nwords').text, 'the handshake failed (odd?words)')
  equal(protocolFault('ECONNRESET', '').code, 'TLS_CLOSED')
  equal(protocolFault('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', '').text, 'there is no version of TLS that both speak')
})
