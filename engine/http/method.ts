/** Facts about request methods. */

/** Methods that a client itself may repeat without asking (RFC 9110 section 9.2.2). */
export function isIdempotent(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'PUT' || method === 'DELETE' || method === 'OPTIONS'
}

/** Those that llhttp takes in HTTP/1: other versions of HTTP serve no others. */
const METHODS = new Set(
  (
    'DELETE GET HEAD POST PUT CONNECT OPTIONS TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK BIND ' +
    'REBIND UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PATCH PURGE ' +
    'MKCALENDAR LINK UNLINK SOURCE QUERY'
  ).split(' ')
)

export function isMethod(method: string): boolean {
  return METHODS.has(method)
}
