// An extension that does nothing: what there is with it is there with all others, too.
export default function () {}
