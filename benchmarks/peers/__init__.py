"""dualgap against other libraries: seconds to the same accuracy of the same objective."""
