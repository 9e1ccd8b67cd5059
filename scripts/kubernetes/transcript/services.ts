/** Section 2.6, traffic: services that policies ask, tokens with remote keys, and limits. */
import { accepted, applied, askOf, body, code, codes, logged, manifests, refused } from './commands.ts'
import { CHAT } from './requests.ts'
import { awaited, type Step, seen } from './steps.ts'

const WIDE = askOf('wide')
const bearer = (file: string): string => `-H "authorization: Bearer $(cat ${file})"`

export const SERVICES: Step = {
  title: '2.6 extAuth over gRPC and HTTP, remote keys',
  text: 'The service over gRPC lets in who says who they are (`x-who`), and prints what it was asked; that over HTTP lets in who has a session, and everybody else is sent to sign in. The keys of tokens come from a Service.',
  files: manifests('services', 'no-services'),
  commands: [
    applied('services'),
    refused('no-services'),
    accepted('gatewaypolicies', ['grpc-checked', 'optional', 'permissive', 'signed-in', 'strict']),
    body('/grpc-checked', '', /^who are you\? 403$/, WIDE),
    body('/grpc-checked', `-H 'x-who: anna' -d short`, /x-user: anna[\s\S]*200$/, WIDE),
    logged('authorizer', /check POST \/grpc-checked .*"team":"chat".*asked.*\/grpc-checked.*body short/),
    code('/grpc-checked', `-H 'x-who: anna' -d 'longer than 16 bytes'`, /413/, WIDE),
    awaited(`${WIDE}/signed-in -i`, /^HTTP\/1.1 302[\s\S]*location: \/login\?from=\/signed-in/i),
    body('/signed-in', `-H 'cookie: session=1'`, /x-user: anna[\s\S]*200$/, WIDE),
    code('/strict', '', /401/, WIDE),
    body('/strict', bearer('token'), /x-sub: anna[\s\S]*200$/, WIDE),
    code('/strict', bearer('expired'), /401/, WIDE),
    code('/strict', bearer('of-another'), /401/, WIDE),
    code('/optional', '', /200/, WIDE),
    code('/optional', bearer('expired'), /401/, WIDE),
    code('/optional', bearer('token'), /200/, WIDE),
    code('/permissive', bearer('expired'), /200/, WIDE)
  ]
}

export const QUOTAS: Step = {
  title: '2.6 rateLimit by requests with burst, by tokens, and shared; extProc',
  text: 'Two requests in a burst beside the one of the hour. A model answers with 5 tokens: after two answers the 8 of the hour are spent. The service of limits allows 2 hits; of tokens it hears one before the request, and the others after it. The processor adds a field.',
  files: manifests('quotas', 'no-quotas'),
  commands: [
    applied('quotas'),
    refused('no-quotas'),
    accepted('gatewaypolicies', ['burst', 'processed', 'shared', 'spent', 'tokens']),
    body('/processed', '', /x-processed: yes[\s\S]*200$/, WIDE),
    codes(4, '/burst', '', /^200 200 200 429 $/, WIDE),
    codes(3, '/tokens', CHAT('fast', 'Hi'), /^200 200 429 $/, WIDE),
    codes(3, '/shared', `-H 'x-who: anna'`, /^200 200 429 $/, WIDE),
    codes(1, '/shared', `-H 'x-who: otto'`, /^200 $/, WIDE),
    logged('limits', /limit chat \| who=otto/),
    seen(`${WIDE}/spent -o /dev/null -w '%{http_code}' ${CHAT('fast', 'Hi')}`, /200/),
    awaited('kubectl -n chat logs deployment/limits --tail=2', /team=blue \| hits 1\n.*team=blue \| hits 4\n$/)
  ]
}

export const FURTHER: Step = {
  title: '2.6 hostRewrite, timeouts, users',
  text: 'The echo tells which host it was asked for, and never answers at `/silent`. Who shows no password passes, who shows a wrong one does not.',
  files: manifests('further'),
  commands: [
    applied('further'),
    accepted('gatewaypolicies', ['kept', 'known', 'late-answers', 'rewritten']),
    body('/rewritten', '', /host: echo.chat.svc.cluster.local[\s\S]*200$/, WIDE),
    body('/kept', "-H 'host: shop.example'", /host: shop.example[\s\S]*200$/, WIDE),
    code('/silent/late', '', /504/, WIDE),
    code('/known', '', /200/, WIDE),
    code('/known', '-u anna:password', /200/, WIDE),
    code('/known', '-u anna:other', /401/, WIDE)
  ]
}
