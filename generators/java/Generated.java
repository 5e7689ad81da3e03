package javax.annotation;

/** Mark of generated sources, which the JDK no longer has; projects take it from `jakarta.annotation-api`. */
public @interface Generated {
    String value();

    String comments();
}
