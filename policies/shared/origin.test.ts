import assert from 'node:assert/strict'
import { test } from 'node:test'
import { originText, parseOrigin } from './origin.ts'

test('an origin has one spelling', () => {
  const spelled = (text: string) => {
    const origin = parseOrigin(text)
    return origin === null ? null : originText(origin)
  }
  for (const [text, expected] of [
    ['https://example.com', 'https://example.com'],
    ['HTTPS://Example.COM:443', 'https://example.com'],
    ['http://example.com:443', 'http://example.com:443'],
    ['http://example.com:080', 'http://example.com'],
    ['https://example.com:80', 'https://example.com:80'],
    ['http://[::1]:80', 'http://[::1]'],
    ['http://[0:0:0:0:0:0:0:1]:8080', 'http://[::1]:8080'],
    ['http://192.0.2.1:1', 'http://192.0.2.1:1'],
    ['chrome-extension://abcdefgh', 'chrome-extension://abcdefgh'],
    ['app+x.y://host:7', 'app+x.y://host:7']
  ] as const) {
    assert.equal(spelled(text), expected, text)
  }
})

test('text that is no origin', () => {
  for (const text of [
    ...['', 'null', 'example.com', '://a', 'https://', 'https:///', 'https:///a', 'https://a/', 'https://a/b'],
    ...['https://a:0', 'https://a:65536', 'https://a:', 'https://user@a', 'https://a b', ' https://a', 'https://a,b'],
    ...['https://[::1', 'https://[::1%25lo]', 'https://*.a', 'https://.a', '1http://a', 'https://a?b', 'https://a#b'],
    ...[`${'a'.repeat(40)}://a`, 'https://a https://b']
  ]) {
    assert.equal(parseOrigin(text), null, text)
  }
})
